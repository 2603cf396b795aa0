// Package databases opens, checks and closes the databases of a CometBFT node, and bounds what
// CometBFT stores without a bound: pending evidence, and an index that repeats the transactions.
package databases
