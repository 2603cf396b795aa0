// Package databases opens, checks and closes the databases of a CometBFT node. It also bounds two of them: the pending
// evidence, and the transaction index, which CometBFT alone would fill with a second copy of every transaction.
package databases
