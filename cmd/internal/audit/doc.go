// Package audit re-executes a chain from genesis and its blocks only: it trusts no state that a
// node stored. It checks every block against its own header, the signatures of the validator set
// that the replay derives, and the application hash in the next header.
//
// # One reader of history
//
// A [Source] has the blocks: an [Archive], the databases of a stopped node ([Home]) or a node's RPC
// ([Remote]). [Run] reads it, and passes every [Executed] block to [Options].Executed. All that
// spdl says of a whole history is made of these blocks:
//
//	Run                    a Report: the first divergence, leaders passed over, offences, spends
//	RunLog                 a Log: operations, approvals and what became of them, with proofs
//	RunWithdraw            what the model holds of a participant that leaves
//	dossier.Collect        a dossier: Log, records and members, proven against the last header
//	contribution.Estimator what each participant's gradients added
//	history.Read           the report of a training
package audit
