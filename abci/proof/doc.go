// Package proof proves a value of the state, or the record of a closed round, against the application hash in a block's
// header. Its operators run in CometBFT's merkle.ProofRuntime: merkle.ValueOp in each tree, and three operators that
// compute the value of a leaf from the requested value.
//
//	State          proves a value of a state
//	History        proves the records of closed rounds
//	Proven.Verify  checks an answer against the requested key and an application hash
//	Runtime        the operators, also for CometBFT's light client (light/rpc)
//
// SPEC.md of package app defines the trees, the keys and the operators.
package proof
