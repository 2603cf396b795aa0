// Package proof leads from a value of the state, or from the record of a closed round,
// to the application hash in a block's header, by operators that CometBFT's
// merkle.ProofRuntime runs: its own merkle.ValueOp in each tree, and three that turn
// what was asked for into the value of a leaf.
//
//	State          proves a value of a state
//	History        proves the records of closed rounds
//	Proven.Verify  holds an answer to what was asked and to an application hash
//	Runtime        the operators, also for CometBFT's light client (light/rpc)
//
// SPEC.md of package app defines the trees, the keys and the operators.
package proof
