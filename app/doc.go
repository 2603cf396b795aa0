// Package app is the state machine of the chain: a pure function from a state and a block to an
// outcome.
//
//	State.Admit           checks one transaction against the current state (pool, CheckTx)
//	State.DraftAggregate  drafts the aggregate that a participant may sign now
//	State.Assemble        picks a block's transactions from the pending transactions (PrepareProposal)
//	State.Execute         judges a block and computes its outcome (PrepareProposal, ProcessProposal, FinalizeBlock)
//
// No clock, randomness, map order, goroutine timing or float reduction order reaches a result:
// gradients and aggregates are integers, and the model update is elementwise, with every product
// rounded separately (no fused multiply-add). The codes in errors (T1, G3, B2 ...) name the rules
// of SPEC.md.
//
// A State is immutable once returned: Execute makes a new State. Units: gradients and Delta in grid
// steps, reputations in parts per million, rounds from 0, heights as CometBFT counts them.
package app
