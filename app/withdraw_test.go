package app_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
)

// withdraw returns the withdrawal of a participant with revocations from the proposal of a
// transaction.
func withdraw(by uint32, proposal *tx.Tx, revocations uint64) *tx.Tx {
	return ring{}.sign(by, &tx.Withdraw{Participant: by, Proposal: id(proposal), Revocations: revocations})
}

// approveAgain returns the approval of a participant with revocations.
func approveAgain(by uint32, proposal *tx.Tx, revocations uint64) *tx.Tx {
	return ring{}.sign(by, &tx.Approve{Participant: by, Proposal: id(proposal), Revocations: revocations})
}

// at returns the state at another height, as after empty blocks.
func at(t *testing.T, s *app.State, height uint64) *app.State {
	t.Helper()
	s, err := app.DecodeState(height, s.Encode())
	require.NoError(t, err)
	return s
}

// TestWithdraw: an approval that is withdrawn no longer counts, and a proposal without an approval
// leaves the state.
func TestWithdraw(t *testing.T) {
	s := apptest.State(5, mean)
	x := remove(0, 4)
	s = step(t, s, approved(x, 1, 2)...).State
	out := step(t, s, withdraw(1, x, 0))
	require.Empty(t, out.Discarded)
	require.NotEqual(t, s.Hash(), out.State.Hash())
	require.Equal(t, []uint32{0, 2}, out.State.Proposals[0].Approvals)
	require.Equal(t, []uint32{0, 1, 2}, s.Proposals[0].Approvals, "the state before is as it was")
	require.EqualValues(t, 1, out.State.Participants[1].Revocations)
	s = out.State
	require.False(t, step(t, s, ring{}.approve(3, x)).State.Proposals[0].Accepted, "three of five are too few")
	require.True(t, step(t, s, ring{}.approve(3, x), approveAgain(1, x, 1)).State.Proposals[0].Accepted)

	last := withdraw(2, x, 0)
	out = step(t, s, withdraw(0, x, 0), last)
	require.Equal(t, []app.Discard{{Kind: tx.KindRemove, Proposal: id(x), By: last}}, out.Discarded)
	require.Equal(t, "withdrawn", out.Discarded[0].Cause())
	require.Empty(t, out.State.Proposals)
	require.Empty(t, step(t, out.State).Discarded, "once")
	refused(t, out.State, app.ErrNonce, x)
	again := remove(0, 4)
	require.NotEqual(t, id(x), id(again), "the nonce is another one")
	step(t, out.State, again)
}

// TestWithdrawRules applies M5 and M9 to withdrawals, and M9 to approvals.
func TestWithdrawRules(t *testing.T) {
	s := apptest.State(4, mean)
	x, accepted, join := remove(0, 3), remove(1, 3), apptest.Join(4)
	s = step(t, s, append(append(approved(x, 1), approved(accepted, 2, 3)...), join)...).State
	rotation := rotate(2, ring{}, 52, 0, 0)
	s = step(t, s, rotation).State
	for name, w := range map[string]*tx.Tx{
		"of nothing":                   ring{}.sign(1, &tx.Withdraw{Participant: 1}),
		"from what never was":          withdraw(1, apptest.Join(9), 0),
		"from what is accepted":        withdraw(2, accepted, 0),
		"from what was decided alone":  withdraw(2, rotation, 0),
		"without an approval":          withdraw(2, x, 0),
		"from a Join without approval": withdraw(2, join, 0),
	} {
		t.Run(name, func(t *testing.T) { refused(t, s, app.ErrProposal, w) })
	}
	refused(t, s, app.ErrRevoked, withdraw(1, x, 1))
	refused(t, s, app.ErrRevoked, approveAgain(2, x, 1))
	refused(t, s, app.ErrOperationSigned, apptest.Sign(2, &tx.Withdraw{Participant: 1, Proposal: id(x)}))
	refused(t, s, app.ErrSender, ring{}.sign(4, &tx.Withdraw{Participant: 4, Proposal: id(x)}))
	_, err := s.Execute(app.Block{Height: s.Height + 1, Txs: []*tx.Tx{withdraw(2, x, 0)}})
	require.ErrorContains(t, err, "participant 2 has not approved")
	require.ErrorContains(t, err, "approved by participants [0 1] at height 3")
}

// TestWithdrawnIsNotReplayed: nobody can send an approval or a withdrawal a second time, also if a
// Join, which has no nonce, waits again.
func TestWithdrawnIsNotReplayed(t *testing.T) {
	s := apptest.State(4, mean)
	x, join := remove(0, 3), apptest.Join(4)
	s = step(t, s, append(approved(x, 1), bring(2, join))...).State
	s = step(t, s, withdraw(1, x, 0)).State
	refused(t, s, app.ErrRevoked, ring{}.approve(1, x))
	s = step(t, s, approveAgain(1, x, 1)).State
	refused(t, s, app.ErrRevoked, withdraw(1, x, 0))
	require.Equal(t, []uint32{0, 1}, s.Proposals[0].Approvals)

	back := withdraw(2, join, 0)
	out := step(t, s, back)
	require.Equal(t, []app.Discard{{Kind: tx.KindJoin, Proposal: id(join), By: back}}, out.Discarded)
	refused(t, out.State, app.ErrRevoked, bring(2, join))
	s = step(t, out.State, join).State
	refused(t, s, app.ErrRevoked, ring{}.approve(2, join))
	step(t, s, approveAgain(2, join, 1))
}

// TestWithdrawAtTheThreshold: in one block the first of two operations counts, an approval that
// accepts the proposal or a withdrawal from it. Operations leaves the other one out.
func TestWithdrawAtTheThreshold(t *testing.T) {
	s := apptest.State(4, mean)
	x := remove(0, 3)
	s = step(t, s, approved(x, 1)...).State
	third, back := ring{}.approve(2, x), withdraw(1, x, 0)
	_, err := s.Execute(app.Block{Height: s.Height + 1, Txs: []*tx.Tx{third, back}})
	exactly(t, app.ErrProposal, err)
	require.ErrorContains(t, err, "is accepted already")
	require.Equal(t, []*tx.Tx{third}, s.Operations([]*tx.Tx{third, back}, nil, 0))
	s = step(t, s, back, third).State
	require.Equal(t, []uint32{0, 2}, s.Proposals[0].Approvals)
	require.False(t, s.Proposals[0].Accepted)
}

// TestWithdrawBesideTheLeft: the approval of a participant that has left keeps no proposal in the
// state.
func TestWithdrawBesideTheLeft(t *testing.T) {
	s := apptest.State(5, mean)
	x := apptest.Join(5)
	s = step(t, s, approved(x, 4, 0)...).State
	s = round(t, s, leave(4)).State
	require.Len(t, s.Proposals, 1)
	require.Len(t, step(t, s, withdraw(0, x, 0)).Discarded, 1)
}

// TestWithdrawBounds: two participants that propose, approve and withdraw in turns have no more weak
// proposals in the state than they could propose, and each proposal that leaves is reported.
func TestWithdrawBounds(t *testing.T) {
	s := apptest.State(7, mean, func(p *params.Params) { p.Rule.Byzantine = 2 })
	require.Equal(t, 2, s.F())
	discarded := 0
	for i := range uint64(12) {
		x := remove(0, 6)
		out := step(t, s, x, approveAgain(1, x, s.Participants[1].Revocations))
		out = step(t, out.State, withdraw(0, x, i))
		discarded += len(out.Discarded)
		s = out.State
	}
	require.Len(t, s.Proposals, 4)
	require.Equal(t, 8, discarded)
	for _, p := range s.Proposals {
		require.Equal(t, []uint32{1}, p.Approvals)
	}
	// A proposal that more than f participants approve stays after a withdrawal.
	x := remove(0, 6)
	s = step(t, s, append(approved(x, 2, 3), approveAgain(1, x, s.Participants[1].Revocations))...).State
	require.Empty(t, step(t, s, withdraw(0, x, 12)).Discarded)
}

// TestExpiry: a proposal that is not accepted after Lifetime heights leaves the state, also in an
// empty block of a round that does not progress. Approvals of the block itself count.
func TestExpiry(t *testing.T) {
	s := apptest.State(4, mean)
	join, x := apptest.Join(4), remove(0, 3)
	s = step(t, s, approved(join, 1)...).State
	s = step(t, s, x).State
	first := s.Proposals[0].Expires()
	require.EqualValues(t, 1+app.Lifetime, first)

	s = at(t, s, first-2)
	out := step(t, s)
	require.False(t, out.Changed)
	s = out.State
	require.Len(t, step(t, s, ring{}.approve(2, join)).Discarded, 1, "two approvals of four are too few")
	out = step(t, s, ring{}.approve(2, join), ring{}.approve(3, join))
	require.Empty(t, out.Discarded, "it is accepted")
	out = step(t, s)
	require.True(t, out.Changed)
	require.Nil(t, out.Record)
	require.Equal(t, []app.Discard{{Kind: tx.KindJoin, Proposal: id(join)}}, out.Discarded)
	require.Equal(t, "expired", out.Discarded[0].Cause())
	require.NotEqual(t, s.Hash(), out.State.Hash())
	s = out.State
	require.Len(t, s.Proposals, 1, "the next one was proposed one height later")
	require.EqualValues(t, 1, s.Participants[1].Revocations)
	require.Zero(t, s.Participants[0].Revocations)

	// The Join may be asked for again, without its former approval.
	again := step(t, s, join).State
	refused(t, again, app.ErrRevoked, ring{}.approve(1, join))
	require.Empty(t, again.Proposals[len(again.Proposals)-1].Approvals)

	out = step(t, s)
	require.Equal(t, []app.Discard{{Kind: tx.KindRemove, Proposal: id(x)}}, out.Discarded)
	require.Empty(t, out.State.Proposals)
	refused(t, out.State, app.ErrNonce, x)
	require.False(t, step(t, out.State).Changed)
}

// TestAcceptedDoesNotExpire: an epoch that is accepted waits for the end of the training, however long that takes.
func TestAcceptedDoesNotExpire(t *testing.T) {
	s := apptest.State(4, mean)
	x := ring{}.sign(0, app.NewStartEpoch(0, tick(), 1, s.Params, true, false))
	s = step(t, s, approved(x, 1, 2)...).State
	s = at(t, s, 2*app.Lifetime)
	out := step(t, s)
	require.Empty(t, out.Discarded)
	require.True(t, out.State.Proposals[0].Accepted)
}

// TestExpiredAfterAnUpgrade: the first block of this version discards what waited too long in the
// version before, which had no expiry.
func TestExpiredAfterAnUpgrade(t *testing.T) {
	s := apptest.State(4, mean)
	s = step(t, s, approved(apptest.Join(4), 1, 2)...).State
	out := step(t, at(t, s, 5*app.Lifetime))
	require.Len(t, out.Discarded, 1)
	require.Empty(t, out.State.Proposals)
}
