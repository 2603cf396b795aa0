// Package abci implements the interface between CometBFT and the pure core, package app. It has one
// file for each ABCI verb, and beneath it the pool of pending transactions and the query paths.
//
// All verbs may run concurrently: PrepareProposal waits for a complete round while CheckTx fills
// the pool. So each ABCI connection needs its own lock, as in package node, which also answers the
// RPC's /check_tx with Judge. The committed state is one atomic pointer to an immutable value,
// which queries read without a lock.
//
// A block with a fault gets REJECT, and the reason is logged. An error from a verb means that the
// node could not verify the block. FinalizeBlock does not recover from panics: a node that cannot
// execute a decided block must halt, because it would otherwise diverge.
package abci
