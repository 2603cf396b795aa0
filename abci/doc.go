// Package abci implements the interface between CometBFT and the pure core, package app. It has one
// file for each ABCI method. Its subpackages hold the pool of pending transactions and the query
// paths.
//
// All methods may run concurrently: PrepareProposal waits for a complete round while CheckTx adds
// to the pool. So the ABCI connections must not share a lock; package node gives each connection
// its own lock. Package node also answers the RPC call /check_tx, with Judge. The committed state
// is one atomic pointer to an immutable value, which queries read without a lock.
//
// ProcessProposal answers REJECT to an invalid block, and logs the reason. An error from a method
// means that the node could not verify the block. FinalizeBlock does not recover from panics: a
// node that cannot execute a decided block must halt.
package abci
