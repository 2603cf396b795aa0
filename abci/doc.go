// Package abci implements the interface between CometBFT and the pure core, package app. CometBFT
// decides when something happens, app decides what is valid, and this package moves the one to the
// other: it has one file for each ABCI method, and no rule.
//
// # Usage
//
// New returns the application on a database; package node starts it beneath a CometBFT node, and
// most callers want that. A test drives it by its methods:
//
//	a, err := abci.New(abci.Options{DB: db, Logger: logger, ChainID: doc.ChainID})
//	a.InitChain(ctx, request)         // once; or Info, after a restart
//	a.CheckTx(ctx, request)           // at any time
//	a.PrepareProposal(ctx, request)   // as proposer
//	a.ProcessProposal(ctx, request)   // before a vote
//	a.FinalizeBlock(ctx, request)     // the decided block
//	a.Commit(ctx, request)            // and again from CheckTx
//
// # Methods
//
//	Info, InitChain       the committed height and hash; the state before the first block
//	CheckTx, Judge        State.Admit, then the pool; Judge answers alike and keeps nothing
//	PrepareProposal       waits until the round is complete, then State.Assemble of the pool
//	ProcessProposal       State.SafeExecute: an invalid block is a REJECT with its reason in the log
//	FinalizeBlock         State.SafeExecute, from the execution cache if the proposal was processed
//	Commit                gives the outcome to the store, and publishes the state
//	Query                 answers from the committed state, with a proof if asked, and for this node's pool and clock
//	ListSnapshots ...     state sync: the document of a height, in chunks
//
// An error from a method means that the node could not judge; REJECT means that the block is bad.
// FinalizeBlock returns a panic of the state machine as an error: a node that cannot execute a decided block halts.
//
// # A transaction's way
//
//	worker -> RPC or gossip (reactor) -> CheckTx -> pool -> PrepareProposal -> consensus
//	       -> ProcessProposal -> FinalizeBlock -> store -> query, events, explorer
//
// # Subpackages
//
//	pool        pending transactions, drafts of aggregates, the execution cache
//	store       states, records of rounds, checkpoints, snapshots
//	query       the answers, as Go types; proof proves them; client asks for them
//	light       headers and states that a client verifies itself
//	node, home  start and stop; configuration, keys, genesis, databases
//	network     a node's side of its peers: reactor (gossip), limit (what they cost), admission
//
// # Concurrency
//
// All methods may run concurrently: PrepareProposal waits for a complete round while CheckTx adds to the pool. So the
// ABCI connections must not share a lock; package node gives each connection its own lock. The committed state is one
// atomic pointer to an immutable value, which queries read without a lock.
package abci
