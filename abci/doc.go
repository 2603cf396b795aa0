// Package abci is the application as CometBFT sees it: one file per verb around the pure core of
// Package app, the pool of pending gradients, the query paths and the events.
//
// All verbs may run concurrently, because PrepareProposal waits for the round to be complete while
// CheckTx fills the pool: give each connection a lock of its own, as package node does, which also
// answers the RPC's /check_tx by Judge. The committed state is one atomic pointer to an immutable
// value; queries read it without a lock.
//
// A fault in a block is REJECT with a reason in the log. An error from a verb means that the node
// could not judge. FinalizeBlock does not recover: a node that cannot execute a decided block halts
// rather than diverges.
package abci
