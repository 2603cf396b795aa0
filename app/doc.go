// Package app is the state machine of the chain: a pure function from a state and a block to an outcome. SPEC.md beside
// it states the rules by number, and the codes in errors (T1, G3, B2 ...) name them.
//
// # Usage
//
// A State is immutable once returned. NewState makes the first of a Genesis, DecodeState one of its
// bytes; Hash is the application hash. Execute makes the next state of a state and a block:
//
//	s, err := app.NewState(chainID, 1, blockBytes, genesis)
//	for block := range blocks {
//		out, err := s.Execute(app.Block{Height: s.Height + 1, Txs: block})
//		if err != nil {
//			// the block is not valid: err names the rule and the value
//		}
//		s = out.State // out.Record is the round that the block closed, nil if it closed none
//	}
//
// A node asks a state five questions, each in a file of its own:
//
//	Admit           may this transaction wait in the pool? (CheckTx)
//	DraftAggregate  which aggregate may this participant sign now?
//	Assemble        which of the pending transactions make the next block? (PrepareProposal)
//	Execute         is the block valid, and what does it change? (ProcessProposal, FinalizeBlock)
//	Encode, Tree    what is stored, and what is proven of it? (Commit, Query)
//
// What Assemble returns, Execute accepts. SafeExecute is Execute for callers that must survive a panic.
//
// # Transactions
//
// Package tx decodes them. Three kinds make rounds, in block order; the others are operations:
//
//	Commit      a hash that binds its sender to one gradient of the round (C1 to C7)
//	Aggregate   the leader's Delta over the gradients that it lists: closes the round (A1 to A8)
//	Gradient    a noised vector on the grid, with its sender's VRF proof (G1 to G9)
//	Join, Rotate, Remove, Restore       members and keys (M1 ...)
//	Approve, Withdraw                   approvals of a proposal (M5, M9)
//	StartEpoch, Upgrade                 the next training, the next state machine (P, U)
//	Evidence                            two signed statements that contradict each other (E)
//	Present                             its sender is back after a rest (O4)
//
// An operation is a type with the methods of operation, and one line in the table operations.
//
// # States of a round
//
//	committing   with election.commit_reveal: takes Commits until enough stand, or a time is over
//	revealing    takes gradients; with each view one more leader may close it (A2, A3)
//	overdue      f+1 leaders have missed their views: a worker that sat the round out takes part
//	closed       its Record is in the history, and the next round is open
//
// A valid block has its effects in this order; O1 to O3 and O6 need a block that closes a round: Delta moves the model
// (O1), reputations, ledgers and rests change (O2), the record is written (O3), commitments and operations are applied
// (O4), the boundary enacts accepted proposals (O5), the next leaders are ranked (O6), the phase may end (O7).
//
// # Where to look
//
//   - A gradient's way: [State.Admit] (CheckTx), where admitGradient in admit.go has the chain's reasons to reject it;
//     State.DraftIncluded in lead.go, by which its leader lists it (mayCloseWith in liveness.go says without whom);
//     [State.Assemble], [State.Execute], in which State.aggregate in lead.go asks the rule. The fate of a listed one is
//     a [Contribution] of the [Record] (State.record in round.go), and chainview.Verdicts explains those of all.
//   - Lateness: liveness.go, with [State.Required], [State.RestEnds] and [State.MayPresent]. With commit_reveal the
//     phase ends without a late commitment (endsCommitPhase in commit.go), and checkCommitted rejects its gradient.
//   - Election: election.go, with [State.OpenView].
//   - An approval's way: txApprove makes it, sender.sign and sender.send in cmd/internal/cli/consortium/tx.go send it.
//     checkSender in operation.go checks by whom, approveOp in approve.go checks and adds it, State.count in
//     proposal.go counts, with the proposer's own of State.propose, and crossBoundary in boundary.go enacts the
//     proposal. A vote is a validator's: CometBFT has it, and asks abci.Application.ProcessProposal before.
//
// # Purity
//
// No clock, randomness, map order, goroutine timing or float reduction order reaches a result:
// gradients and aggregates are integers, and the model update is elementwise, with every product
// rounded separately (no fused multiply-add). TestWalls holds the imports, the golden hashes and
// the vectors in testdata the results, and a second implementation judges the same vectors alike.
//
// Units: gradients and Delta in grid steps, reputations in parts per million, rounds from 0,
// heights as CometBFT counts them.
package app
