// Package app is the state machine of the chain: a pure function from a state and a block to an
// outcome.
//
//	State.Admit           one transaction against the current state (pool, CheckTx)
//	State.DraftAggregate  the aggregate that a participant may sign now
//	State.Assemble        the transactions of a block, from the pending transactions (PrepareProposal)
//	State.Execute         the verdict and the outcome (Prepare-, ProcessProposal, FinalizeBlock)
//
// No clock, randomness, map order, goroutine timing or float reduction order reaches a result:
// gradients and aggregates are integers, and the model update is elementwise with every product
// rounded on its own (no fused multiply-add). The numbers in errors (T1, G3, B2 ...) are those of
// SPEC.md.
//
// A State is immutable once returned: Execute makes a new one. Units: gradients and Delta in grid
// steps, reputations in parts per million, rounds from 0, heights as CometBFT counts them.
package app
