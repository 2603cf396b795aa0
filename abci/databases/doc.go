// Package databases opens, checks and closes the databases of a CometBFT node. It also bounds two
// of them: the pending evidence, and the index that would repeat all transactions.
package databases
