package app_test

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/leader"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
)

var ticks uint64

// tick returns a nonce above all earlier ones.
func tick() uint64 { ticks++; return ticks }

func id(t *tx.Tx) []byte {
	id := t.ID()
	return id[:]
}

// ring maps participants to the numbers of apptest's keys with which they sign and prove VRF
// outputs, if these are not those of their index.
type ring struct{ signing, vrf map[uint32]int }

func (r ring) key(index uint32) int {
	if k, ok := r.signing[index]; ok {
		return k
	}
	return int(index)
}

func (r ring) vrfKey(index uint32) int {
	if k, ok := r.vrf[index]; ok {
		return k
	}
	return int(index)
}

func (r ring) sign(index uint32, body tx.Body) *tx.Tx { return apptest.Sign(r.key(index), body) }

func (r ring) gradient(s *app.State, index uint32) *tx.Tx {
	v := apptest.Vector(s.Grid().Width, len(s.Model), s.Progress.Round, uint64(index))
	return r.sign(index, &tx.Gradient{
		Epoch: s.Progress.Epoch, Round: s.Progress.Round, Participant: index, Payload: v.Encode(),
		VrfProof: leader.Prove(apptest.VRFKey(r.vrfKey(index)), s.VRFInput()),
	})
}

func (r ring) approve(index uint32, proposal *tx.Tx) *tx.Tx {
	return r.sign(index, &tx.Approve{Participant: index, Proposal: id(proposal)})
}

// active lists the indices of the active participants.
func active(s *app.State) (out []uint32) {
	for _, p := range s.Participants {
		if p.Active {
			out = append(out, p.Index)
		}
	}
	return out
}

// closes returns the transactions that close the open round at a height, with the gradients of all
// participants or of the given ones; nil while no participant may lead.
func (r ring) closes(s *app.State, height uint64, participants ...uint32) []*tx.Tx {
	if participants == nil {
		participants = active(s)
	}
	var pending []*tx.Tx
	for _, index := range participants {
		pending = append(pending, r.gradient(s, index))
	}
	return r.lead(s, height, pending)
}

// lead returns the transactions that close the open round with the pending gradients, by the first
// participant that may lead; nil if there is none.
func (r ring) lead(s *app.State, height uint64, pending []*tx.Tx) []*tx.Tx {
	for _, index := range append(append([]uint32{}, s.Progress.Ranking...), active(s)...) {
		if a, err := s.DraftAggregate(height, index, pending); err == nil {
			return s.Assemble(height, append(pending, r.sign(index, a)), 0)
		}
	}
	return nil
}

// ripe executes empty blocks until the round can be closed.
func (r ring) ripe(t require.TestingT, s *app.State) (*app.State, []*tx.Tx) {
	for range 100 {
		if txs := r.closes(s, s.Height+1); txs != nil {
			return s, txs
		}
		s = step(t, s).State
	}
	require.Fail(t, "nobody may lead")
	return nil, nil
}

// round closes the open round in a block with other transactions after it.
func (r ring) round(t require.TestingT, s *app.State, others ...*tx.Tx) *app.Outcome {
	s, txs := r.ripe(t, s)
	return step(t, s, append(txs, others...)...)
}

// round closes the open round with the participants' original keys.
func round(t require.TestingT, s *app.State, others ...*tx.Tx) *app.Outcome {
	return ring{}.round(t, s, others...)
}

// step executes a block and checks that the state before stays unchanged, and that the state after
// survives its encoding.
func step(t require.TestingT, s *app.State, txs ...*tx.Tx) *app.Outcome {
	before, hash := s.Encode(), s.Hash()
	out, err := s.Execute(app.Block{Height: s.Height + 1, Txs: txs})
	require.NoError(t, err)
	require.True(t, bytes.Equal(before, s.Encode()), "an executed block must not change the state before it")
	require.Equal(t, hash, s.Hash())
	stored := out.State.Encode()
	again, err := app.DecodeState(out.State.Height, stored)
	require.NoError(t, err)
	require.Equal(t, out.State.Hash(), again.Hash(), "a node that starts again must have the same hash")
	require.True(t, bytes.Equal(stored, again.Encode()))
	require.Equal(t, len(txs) > 0 || len(out.Enacted)+len(out.Discarded) > 0, out.Changed)
	if !out.Changed {
		require.Equal(t, hash, out.State.Hash())
	}
	return out
}

var sentinels = []error{
	app.ErrWrongRound, app.ErrNotParticipant, app.ErrPayload, app.ErrGradientSigned, app.ErrProof,
	app.ErrAggregateRound, app.ErrNotLeader, app.ErrViewClosed, app.ErrIncluded, app.ErrTooFewIncluded,
	app.ErrAggregateSigned, app.ErrDeltaForm,
	app.ErrIdentity, app.ErrKeyTaken, app.ErrSender, app.ErrOperationSigned, app.ErrProposal, app.ErrInfeasible,
	app.ErrNonce, app.ErrRevoked,
	app.ErrEvidence, app.ErrEvidenceSigned, app.ErrSettled, app.ErrEpoch, app.ErrEpochParams,
	app.ErrUpgrade, app.ErrUpgradeVersion, app.ErrNoPlan, app.ErrVersion,
	app.ErrOrder, app.ErrMismatch, app.ErrTolerance, app.ErrFinished, app.ErrHeight, app.ErrTooMany, app.ErrGenesis,
	app.ErrNotClosing,
}

// exactly requires that an error wraps one rule and no other.
func exactly(t require.TestingT, want, err error) {
	for _, rule := range sentinels {
		require.Equal(t, errors.Is(want, rule), errors.Is(err, rule), "want %v: got %v", want, err)
	}
}

// refused requires that the pool rejects the transaction, that a block with it alone and a block
// that also closes the round are rejected, all naming the rule, that Operations leaves it out, and
// that the state stays unchanged.
func (r ring) refused(t require.TestingT, s *app.State, want error, x *tx.Tx) {
	before := s.Encode()
	exactly(t, want, s.Admit(x))
	_, err := s.Execute(app.Block{Height: s.Height + 1, Txs: []*tx.Tx{x}})
	exactly(t, want, err)
	if txs := r.closes(s, s.Height+1); txs != nil {
		_, err = s.Execute(app.Block{Height: s.Height + 1, Txs: append(txs, x)})
		exactly(t, want, err)
	}
	require.Empty(t, s.Operations([]*tx.Tx{x}, nil, 0))
	require.True(t, bytes.Equal(before, s.Encode()), "a refused transaction must not change the state")
}

func refused(t require.TestingT, s *app.State, want error, x *tx.Tx) { ring{}.refused(t, s, want, x) }

// approved returns a proposal with the approvals of participants.
func approved(proposal *tx.Tx, by ...uint32) []*tx.Tx {
	txs := []*tx.Tx{proposal}
	for _, index := range by {
		txs = append(txs, ring{}.approve(index, proposal))
	}
	return txs
}

func leave(i uint32) *tx.Tx {
	return ring{}.sign(i, &tx.Remove{Participant: i, Subject: i, Nonce: tick()})
}

func remove(by, subject uint32) *tx.Tx {
	return ring{}.sign(by, &tx.Remove{Participant: by, Subject: subject, Nonce: tick()})
}

func restore(by, subject uint32) *tx.Tx {
	return ring{}.sign(by, &tx.Restore{Participant: by, Subject: subject, Nonce: tick()})
}

// bring returns an approval that carries a Join.
func bring(by uint32, join *tx.Tx) *tx.Tx {
	return ring{}.sign(by, &tx.Approve{Participant: by, Proposal: id(join), Join: join.Raw})
}

func mean(p *params.Params) { p.Rule.Name = "mean" }

// TestThreshold: a proposal is accepted when 3 * approvals > 2N, including the proposer's own
// approval, and is enacted at the next boundary, not before.
func TestThreshold(t *testing.T) {
	for n := uint32(1); n <= 10; n++ {
		s := apptest.State(int(n), mean)
		join := apptest.Join(int(n))
		s = step(t, s, join).State
		for voted := uint32(1); ; voted++ {
			before := s
			s = step(t, s, ring{}.approve(voted-1, join)).State
			require.False(t, before.Proposals[0].Accepted)
			require.Equal(t, 3*voted > 2*n, s.Proposals[0].Accepted, "%d of %d", voted, n)
			require.Len(t, s.Proposals[0].Approvals, int(voted))
			if s.Proposals[0].Accepted {
				require.EqualValues(t, voted, s.Threshold())
				break
			}
			// A boundary keeps proposals that wait for approvals.
			if voted == 1 {
				out := round(t, s)
				require.Empty(t, out.Enacted)
				s = out.State
			}
		}
		require.EqualValues(t, n, s.Active(), "not before the boundary")
		out := round(t, s)
		require.EqualValues(t, n+1, out.State.Active())
		require.Empty(t, out.State.Proposals)
		require.Equal(t, []app.Enactment{{Kind: tx.KindJoin, Participant: n, Proposal: id(join)}}, out.Enacted)
		if n < 3 {
			continue
		}
		// With the proposer's own approval, a removal needs one less from others.
		x := remove(0, n-1)
		s = step(t, apptest.State(int(n), mean), x).State
		for i := range uint32(s.Threshold() - 1) {
			require.False(t, s.Proposals[0].Accepted)
			s = step(t, s, ring{}.approve(n-1-i, x)).State
		}
		require.True(t, s.Proposals[0].Accepted)
	}
}

// TestOneAlone: a consortium of one accepts its own proposals at once.
func TestOneAlone(t *testing.T) {
	s := apptest.State(1, mean)
	for index, kind := range []tx.Kind{tx.KindRestore, tx.KindStartEpoch} {
		s.Participants[0].Reputation = 0
		x := restore(0, 0)
		if kind == tx.KindStartEpoch {
			x = ring{}.sign(0, app.NewStartEpoch(0, tick(), 1, s.Params, true, true))
		}
		out := round(t, s, x)
		require.Len(t, out.Enacted, 1, "%d", index)
		require.Equal(t, kind, out.Enacted[0].Kind)
		require.NoError(t, out.Enacted[0].Refused)
	}
	refused(t, s, app.ErrInfeasible, remove(0, 0))
	refused(t, s, app.ErrInfeasible, leave(0))
}

// TestApprovalsOfTheActive: approvals of active participants are counted at each vote. A
// participant that has left no longer counts, in approvals and in N.
func TestApprovalsOfTheActive(t *testing.T) {
	s := apptest.State(7, mean)
	join := apptest.Join(7)
	s = step(t, s, approved(join, 0, 1, 2, 3)...).State // 4 of 7 approve
	s = round(t, s, leave(3)).State                     // 3 of 6 are left
	s = step(t, s, ring{}.approve(4, join)).State       // 4 of 6 are too few: 12 is not above 12
	require.False(t, s.Proposals[0].Accepted)
	enough := step(t, s, ring{}.approve(5, join)).State // 5 of 6 suffice
	require.True(t, enough.Proposals[0].Accepted)
	require.Equal(t, []uint32{0, 1, 2, 3, 4, 5}, enough.Proposals[0].Approvals)
	require.Equal(t, 7, round(t, enough).State.Active())

	// Approvals are counted again at boundaries: after 5 has left, 4 of 5 participants have
	// approved, and no further vote is needed.
	out := round(t, s, leave(5))
	require.Len(t, out.Enacted, 1, "the join came first, and was judged with 6")
	require.False(t, out.State.Proposals[0].Accepted)
	out = round(t, out.State)
	require.Equal(t, []app.Enactment{{Kind: tx.KindJoin, Participant: 7, Proposal: id(join)}}, out.Enacted)
	require.Equal(t, 6, out.State.Active())
	// A proposal whose approvers have all left has no approval that counts, with N above 0.
	s = step(t, apptest.State(4, mean), approved(apptest.Join(9), 3)...).State
	s = round(t, s, leave(3)).State
	require.Empty(t, round(t, s).Enacted)
}

// TestProposalRules applies M5 and M8, each way to break them.
func TestProposalRules(t *testing.T) {
	s := apptest.State(5)
	join, other, rotation := apptest.Join(5), remove(1, 4), rotate(3, ring{}, 53, 0, 0)
	removals := []*tx.Tx{remove(0, 4), remove(0, 3), remove(0, 4)} // two with the same meaning, which differ in the nonce
	s = step(t, s, append(approved(join, 0, 1, 2, 3), append(removals, other, rotation)...)...).State
	epoch := ring{}.sign(0, app.NewStartEpoch(0, tick(), 1, s.Params, true, true))
	s = step(t, s, epoch).State
	require.Len(t, s.Proposals, 7)
	require.True(t, s.Proposals[0].Accepted)
	last := s.Participants[0].Nonce
	require.Equal(t, epoch.Body.(*tx.StartEpoch).Nonce, last)
	for name, x := range map[string]*tx.Tx{
		"approval of nothing":          ring{}.sign(1, &tx.Approve{Participant: 1}),
		"approval of what never was":   ring{}.approve(1, apptest.Join(6)),
		"approval of what is accepted": ring{}.approve(4, join),
		"approval of a rotation":       ring{}.approve(4, rotation),
		"approval twice":               ring{}.approve(0, removals[0]),
		"approval of one's own":        ring{}.approve(1, other),
		"approval by another id":       ring{}.sign(1, &tx.Approve{Participant: 1, Proposal: removals[0].Content[:]}),
		"a second rotation":            rotate(3, ring{}, 0, 54, 0),
		"a restore of a reputation":    restore(1, 2),
	} {
		t.Run(name, func(t *testing.T) { refused(t, s, app.ErrProposal, x) })
	}
	for name, x := range map[string]*tx.Tx{
		"the same proposal":      other,
		"one before the last":    removals[0],
		"a remove of the nonce":  ring{}.sign(0, &tx.Remove{Participant: 0, Subject: 2, Nonce: last}),
		"a restore of the nonce": ring{}.sign(0, &tx.Restore{Participant: 0, Subject: 2, Nonce: last}),
		"a leave of the nonce":   ring{}.sign(0, &tx.Remove{Participant: 0, Subject: 0, Nonce: last}),
		"a rotation of the nonce": ring{}.sign(0, &tx.Rotate{Participant: 0, Nonce: last,
			ConsensusKey: apptest.ConsensusKey(53)}),
		"an epoch of the nonce":    ring{}.sign(0, app.NewStartEpoch(0, last, 1, s.Params, false, true)),
		"a remove without a nonce": ring{}.sign(2, &tx.Remove{Participant: 2, Subject: 4}),
		"a leave without one":      ring{}.sign(2, &tx.Remove{Participant: 2, Subject: 2}),
		"a leave below a rotation's": ring{}.sign(3, &tx.Remove{Participant: 3, Subject: 3,
			Nonce: s.Participants[3].Nonce - 1}),
	} {
		t.Run(name, func(t *testing.T) { refused(t, s, app.ErrNonce, x) })
	}
	require.NoError(t, s.Admit(ring{}.sign(0, &tx.Remove{Participant: 0, Subject: 2, Nonce: last + 1})))
	leaving := step(t, s, leave(2)).State
	refused(t, leaving, app.ErrProposal, leave(2))
	require.NoError(t, s.Admit(remove(1, 4)))
	require.NoError(t, s.Admit(remove(2, 4)))
	// An accepted removal does not count to its sender's four. A fifth takes the place of the
	// oldest.
	s = step(t, s, ring{}.approve(1, removals[1]), ring{}.approve(2, removals[1]), ring{}.approve(3, removals[1])).State
	s = step(t, s, remove(0, 2)).State
	require.Len(t, s.Proposals, 8)
	s = step(t, s, remove(0, 2)).State
	require.Len(t, s.Proposals, 8)
	refused(t, s, app.ErrProposal, ring{}.approve(1, removals[0]))
	refused(t, s, app.ErrNonce, removals[0]) // it cannot be sent again
	require.NoError(t, s.Admit(ring{}.approve(1, removals[2])))
	// A join counts for the participant that approves it first, and for no later approver.
	later := apptest.Join(6)
	s = step(t, s, later).State
	require.Len(t, step(t, s, ring{}.approve(1, later), ring{}.approve(0, later)).State.Proposals, 9)
	s = step(t, s, ring{}.approve(0, later)).State
	require.Len(t, s.Proposals, 8)
	refused(t, s, app.ErrProposal, ring{}.approve(1, removals[2]))
}

// TestKindsOfOneContent: a proposal's id covers its kind: the approvals of a restore do not count
// for a removal with the same bytes.
func TestKindsOfOneContent(t *testing.T) {
	s := round(t, apptest.State(5), equivocation(2, 0, 0)).State
	n := tick()
	back := ring{}.sign(3, &tx.Restore{Participant: 3, Subject: 2, Nonce: n})
	away := ring{}.sign(3, &tx.Remove{Participant: 3, Subject: 2, Nonce: n})
	require.Equal(t, back.Content, away.Content)
	require.NotEqual(t, id(back), id(away))
	digest := sha256.Sum256(append([]byte{0, 0, 0, 8}, away.Content[:]...))
	require.Equal(t, digest[:], id(away))
	s = step(t, s, away).State
	require.Equal(t, digest[:], s.Proposals[0].Id)
	refused(t, s, app.ErrProposal, ring{}.approve(0, back))
	require.NoError(t, s.Admit(ring{}.approve(0, away)))
}

// TestReplay: a recorded transaction cannot be used again: neither the votes for a restore, nor a
// rotation to keys that were given up.
func TestReplay(t *testing.T) {
	s := round(t, apptest.State(4), equivocation(3, 0, 0)).State
	old := approved(restore(0, 3), 1, 2)
	s = round(t, s, old...).State
	require.EqualValues(t, params.One, s.Participants[3].Reputation)
	s = round(t, s, equivocation(3, 0, s.Progress.Round)).State
	require.Zero(t, s.Participants[3].Reputation)
	refused(t, s, app.ErrNonce, old[0])
	refused(t, s, app.ErrProposal, old[1])
	again := restore(0, 3)
	s = round(t, s, again).State
	refused(t, s, app.ErrProposal, old[1]) // the old approvals do not count for the next proposal

	s = apptest.State(4)
	first, r := rotate(3, ring{}, 0, 50, 50), ring{vrf: map[uint32]int{3: 50}}
	s = round(t, s, first).State
	s = r.round(t, s, rotate(3, r, 0, 51, 51)).State
	r.vrf[3] = 51
	require.Equal(t, apptest.Identity(51).VrfKey, s.Participants[3].VrfKey)
	r.refused(t, s, app.ErrNonce, first)
	require.NoError(t, s.Admit(rotate(3, r, 0, 50, 50)), "its owner may return to them")
	again = leave(3)
	r.refused(t, r.round(t, s, again).State, app.ErrSender, again)
}

// TestEviction: at most 64 Joins wait without approval, and the oldest makes room. So outsiders can
// neither fill the state nor evict a participant's proposal.
func TestEviction(t *testing.T) {
	s := apptest.State(4)
	wanted := apptest.Join(100)
	s = step(t, s, approved(wanted, 0)...).State
	var joins []*tx.Tx
	for i := range 70 {
		joins = append(joins, apptest.Join(101+i))
		s = step(t, s, joins[i]).State
		require.LessOrEqual(t, len(s.Proposals), 65)
	}
	require.Len(t, s.Proposals, 65)
	require.Equal(t, id(wanted), s.Proposals[0].Id)
	require.Equal(t, id(joins[6]), s.Proposals[1].Id)
	refused(t, s, app.ErrProposal, ring{}.approve(1, joins[5]))
	require.NoError(t, s.Admit(joins[5]), "one that made room may ask again")
	refused(t, s, app.ErrKeyTaken, joins[6])
	// Proposals of participants take no place of joins, and no join evicts them.
	s = step(t, s, remove(0, 3), apptest.Join(99)).State
	require.Len(t, s.Proposals, 66)
	require.Equal(t, id(joins[7]), s.Proposals[1].Id)
	// All joins are from a flood.
	flood := make([]*tx.Tx, 64)
	for i := range flood {
		flood[i] = apptest.Join(200 + i)
	}
	require.Equal(t, flood[:2], s.Operations(flood, nil, 0), "B6")
	_, err := s.Execute(app.Block{Height: s.Height + 1, Txs: flood[:3]})
	require.ErrorIs(t, err, app.ErrTooMany)
	require.Len(t, s.Operations(append(slices.Clone(flood), bring(1, apptest.Join(300))), nil, 0), 3,
		"an approval brings a third")
	for i := 0; i < len(flood); i += 2 {
		s = step(t, s, flood[i], flood[i+1]).State
	}
	require.Len(t, s.Proposals, 66)
	require.Equal(t, id(wanted), s.Proposals[0].Id)
	// A member's approval carries a Join that the flood evicted, and evicts none itself.
	refused(t, s, app.ErrProposal, ring{}.approve(0, joins[7]))
	s = step(t, s, bring(1, joins[7]), ring{}.approve(0, joins[7])).State
	require.Len(t, s.Proposals, 67)
	require.Equal(t, []uint32{1, 0}, s.Proposals[66].Approvals)
	out := round(t, s, ring{}.approve(2, joins[7]))
	require.Equal(t, []app.Enactment{{Kind: tx.KindJoin, Participant: 4, Proposal: id(joins[7])}}, out.Enacted)
}

// TestBring: an approval that carries a Join counts as the Join and the approval, by the rules of
// both.
func TestBring(t *testing.T) {
	s := step(t, apptest.State(4), apptest.Join(70)).State
	join := apptest.Join(4)
	with := func(proposal, raw []byte) *tx.Tx {
		return ring{}.sign(1, &tx.Approve{Participant: 1, Proposal: proposal, Join: raw})
	}
	forged := reseal(join, func(e *tx.Envelope) { e.Signature[5] ^= 1 })
	taken := joinAs(4, func(j *tx.Join) { j.ConsensusKey = apptest.ConsensusKey(0) })
	removal := remove(2, 3)
	for _, c := range []struct {
		name string
		want error
		x    *tx.Tx
	}{
		{"of another", app.ErrProposal, with(id(apptest.Join(5)), join.Raw)},
		{"by the content", app.ErrProposal, with(join.Content[:], join.Raw)},
		{"without an id", app.ErrProposal, with(nil, join.Raw)},
		{"of noise", app.ErrProposal, with(id(join), []byte("noise"))},
		{"with a byte more", app.ErrProposal, with(id(join), append(bytes.Clone(join.Raw), 0))},
		{"of a removal", app.ErrProposal, with(id(removal), removal.Raw)},
		{"of an approval", app.ErrProposal, with(id(bring(2, join)), bring(2, join).Raw)},
		{"not signed by its key", app.ErrOperationSigned, bring(1, forged)},
		{"of a key that is taken", app.ErrKeyTaken, bring(1, taken)},
		{"of keys not proven", app.ErrIdentity, bring(1, joinAs(4, func(j *tx.Join) { j.VrfProof = nil }))},
		{"by an outsider", app.ErrSender, bring(9, join)},
	} {
		t.Run(c.name, func(t *testing.T) { refused(t, s, c.want, c.x) })
	}
	both := step(t, s, bring(1, join), bring(2, join)).State
	require.Equal(t, []uint32{1, 2}, both.Proposals[1].Approvals, "two who bring it at once both approve it")
	one := step(t, s, join, ring{}.approve(1, join)).State
	require.Equal(t, one.Encode(), step(t, s, bring(1, join)).State.Encode())
	// The Joins that a member carries are limited in the same way as its removals.
	for i := range 10 {
		s = step(t, s, bring(3, apptest.Join(100+i))).State
	}
	require.Len(t, s.Proposals, 5)
	require.Equal(t, id(apptest.Join(106)), s.Proposals[1].Id)
	require.NoError(t, s.Admit(join), "one member's approvals close no door")
}

// TestStalled: when a round has stalled, accepted proposals are enacted without closing it, because
// the round may need them. Two of seven never return, with f = 1, and no round can close before
// they are removed.
func TestStalled(t *testing.T) {
	s := apptest.State(7, func(p *params.Params) { p.Rule.Byzantine = 1 })
	var txs []*tx.Tx
	for _, dead := range []uint32{5, 6} {
		txs = append(txs, approved(remove(0, dead), 1, 2, 3, 4)...)
	}
	s = step(t, s, txs...).State
	e := s.Params.Election
	at := s.Progress.Opened + e.QuorumBlocks + e.ViewBlocks*(7+6)
	for s.Height+1 < at {
		require.Nil(t, ring{}.closes(s, s.Height+1, 0, 1, 2, 3, 4))
		out := step(t, s)
		require.False(t, out.Changed, "height %d", s.Height)
		s = out.State
	}
	require.Empty(t, step(t, apptest.State(7)).Enacted)
	for name, txs := range map[string][]*tx.Tx{"an empty block": nil, "a block of others": {apptest.Join(9)}} {
		out := step(t, s, txs...)
		require.Nil(t, out.Record, name)
		require.Len(t, out.Enacted, 2, name)
		require.Len(t, out.Validators, 2, name)
		next := out.State
		require.NotEqual(t, s.Hash(), next.Hash())
		require.Equal(t, []uint32{0, 1, 2, 3, 4}, active(next))
		require.Len(t, next.Progress.Ranking, 5)
		require.ElementsMatch(t, []uint32{0, 1, 2, 3, 4}, next.Progress.Ranking)
		require.Equal(t, s.Progress.Opened, next.Progress.Opened, "the round is the same")
		require.Equal(t, s.Progress.Seed, next.Progress.Seed)
		require.Zero(t, next.Progress.Round)
		out = round(t, next)
		require.Len(t, out.Record.Contributions, 5)
		require.Equal(t, out.State.Height+1, out.State.Progress.Opened)
		require.False(t, step(t, out.State).Changed)
	}
	// A stall alone changes nothing, and proposals that wait for votes still wait.
	s = step(t, apptest.State(7), remove(0, 5)).State
	for range 60 {
		require.False(t, step(t, s).Changed)
		s = step(t, s).State
	}
	s = step(t, s, apptest.Join(9)).State
	require.Len(t, s.Proposals, 2)
	// An epoch also begins in a round that cannot close.
	x := another(s, true, true, func(p *params.Params) { p.Training.Momentum = 0.5 })
	out := step(t, s, approved(x, 1, 2, 3, 4)...)
	require.Len(t, out.Enacted, 1)
	require.EqualValues(t, 1, out.State.Progress.Epoch)
	require.Equal(t, out.State.Height+1, out.State.Progress.Opened)
	require.False(t, step(t, out.State).Changed)
}

// TestBoundary: accepted proposals are enacted in the order in which they arrived. A proposal that
// M2, M6, P1 or P2 forbids by then is dropped with an event.
func TestBoundary(t *testing.T) {
	epoch := func(by uint32, s *app.State, keep bool) *tx.Tx {
		return ring{}.sign(by, app.NewStartEpoch(by, tick(), 1, s.Params, keep, true))
	}
	tall := func(by uint32, s *app.State) *tx.Tx {
		p := s.Params
		p.Rule.Byzantine = 1
		return ring{}.sign(by, app.NewStartEpoch(by, tick(), 1, p, true, true))
	}
	for name, c := range map[string]struct {
		n      int
		others func(s *app.State) []*tx.Tx
		want   []error
		active int
	}{
		"two removals, one too many, M6": {4, func(*app.State) []*tx.Tx {
			a, b := remove(0, 3), remove(1, 2)
			return slices.Concat([]*tx.Tx{a, b}, approved(a, 1, 2)[1:], approved(b, 0, 3)[1:])
		}, []error{nil, app.ErrInfeasible}, 3},
		"a removal accepted after a departure, one too many, M6": {4, func(*app.State) []*tx.Tx {
			a := remove(0, 3)
			return slices.Concat([]*tx.Tx{a, leave(2)}, approved(a, 1, 2)[1:])
		}, []error{nil, app.ErrInfeasible}, 3},
		"a rotation to the key of a join that came before, M2": {4, func(*app.State) []*tx.Tx {
			j := apptest.Join(4)
			return slices.Concat([]*tx.Tx{j, rotate(3, ring{}, 0, 0, 4)}, approved(j, 0, 1, 2)[1:])
		}, []error{nil, app.ErrKeyTaken}, 5},
		"a join for the key of a rotation that came before, M2": {4, func(*app.State) []*tx.Tx {
			a, b := apptest.Join(4), joinAs(5, func(j *tx.Join) { j.ConsensusKey = apptest.ConsensusKey(4) })
			return slices.Concat([]*tx.Tx{a, b, rotate(3, ring{}, 0, 0, 50)}, approved(b, 0, 1, 2)[1:], approved(a, 0, 1, 2)[1:])
		}, []error{nil, app.ErrKeyTaken, nil}, 5},
		"one removed twice, M3": {5, func(*app.State) []*tx.Tx {
			a, b := remove(0, 3), remove(1, 3)
			return slices.Concat([]*tx.Tx{a, b}, approved(a, 1, 2, 4)[1:], approved(b, 0, 2, 4)[1:])
		}, []error{nil, app.ErrSender}, 4},
		"a rotation of who is removed, M3": {5, func(*app.State) []*tx.Tx {
			return append(approved(remove(0, 3), 1, 2, 4), rotate(3, ring{}, 53, 0, 0))
		}, []error{nil, app.ErrSender}, 4},
		"two epochs, P1": {4, func(s *app.State) []*tx.Tx {
			return append(approved(epoch(0, s, true), 1, 2), approved(epoch(1, s, true), 0, 2)...)
		}, []error{nil, app.ErrEpoch}, 4},
		"an epoch for who has left, P2": {4, func(s *app.State) []*tx.Tx {
			return append([]*tx.Tx{leave(3)}, approved(tall(0, s), 1, 2)...)
		}, []error{nil, app.ErrEpochParams}, 3},
		"restored twice, M5": {4, func(*app.State) []*tx.Tx {
			return slices.Concat([]*tx.Tx{equivocation(3, 0, 0)}, approved(restore(0, 3), 1, 2), approved(restore(1, 3), 0, 2))
		}, []error{nil, app.ErrProposal}, 4},
		"restored and gone, M3": {4, func(*app.State) []*tx.Tx {
			return slices.Concat([]*tx.Tx{equivocation(3, 0, 0), leave(3)}, approved(restore(0, 3), 1, 2))
		}, []error{nil, app.ErrSender}, 3},
		"a departure makes room": {5, func(*app.State) []*tx.Tx {
			return append(append(approved(remove(0, 4), 1, 2, 3), leave(3)), approved(apptest.Join(5), 0, 1, 2, 3)...)
		}, []error{nil, nil, nil}, 4},
	} {
		s := apptest.State(c.n)
		out := round(t, s, c.others(s)...)
		require.Len(t, out.Enacted, len(c.want), name)
		for i, change := range out.Enacted {
			if c.want[i] == nil {
				require.NoError(t, change.Refused, name)
				continue
			}
			exactly(t, c.want[i], change.Refused)
		}
		require.Equal(t, c.active, out.State.Active(), name)
		require.Empty(t, out.State.Proposals, "%s: made or dropped, not kept", name)
		round(t, out.State)
	}
}

// TestOneConsensusKey: of two accepted joins with one consensus key only one is enacted, because
// CometBFT halts on two updates of one validator.
func TestOneConsensusKey(t *testing.T) {
	a := joinAs(4, func(j *tx.Join) { j.ConsensusKey = apptest.ConsensusKey(77) })
	b := joinAs(5, func(j *tx.Join) { j.ConsensusKey = apptest.ConsensusKey(77) })
	out := round(t, apptest.State(4), slices.Concat([]*tx.Tx{a, b}, approved(a, 0, 1, 2)[1:], approved(b, 0, 1, 2)[1:])...)
	require.Len(t, out.Enacted, 2)
	require.Equal(t, app.Enactment{Kind: tx.KindJoin, Participant: 4, Proposal: id(a)}, out.Enacted[0],
		"in the order in which they came")
	exactly(t, app.ErrKeyTaken, out.Enacted[1].Refused)
	require.Equal(t, id(b), out.Enacted[1].Proposal)
	require.Equal(t, apptest.Identity(4).PubKey, out.State.Participants[4].PubKey)
	require.Equal(t, []app.ValidatorUpdate{{ConsensusKey: apptest.ConsensusKey(77), Power: 10}}, out.Validators)
	require.Equal(t, 5, out.State.Active())
}

// TestStale: a boundary drops a proposal that no approval can make possible any more. Other
// proposals still wait.
func TestStale(t *testing.T) {
	s := apptest.State(6, mean)
	s = round(t, s, equivocation(5, 0, 0)).State
	kept := []*tx.Tx{remove(1, 3), apptest.Join(9), restore(1, 5)}
	s = step(t, s, append(kept, remove(1, 4), remove(4, 5),
		ring{}.sign(1, app.NewStartEpoch(1, tick(), 1, s.Params, true, true)))...).State
	ids := func(s *app.State) (out [][]byte) {
		for _, p := range s.Proposals {
			out = append(out, p.Id)
		}
		return out
	}
	require.Len(t, ids(round(t, s).State), 6, "a boundary alone changes nothing")
	s = round(t, s, leave(4)).State
	require.Len(t, s.Proposals, 4, "who has left needs not be removed, and what it proposed has gone with it")
	require.Equal(t, id(kept[2]), ids(s)[2])
	s = round(t, s, approved(restore(0, 5), 1, 2, 3)...).State
	require.Len(t, s.Proposals, 3, "who is restored needs it not twice")
	s = round(t, s, approved(ring{}.sign(0, app.NewStartEpoch(0, tick(), 1, s.Params, true, true)), 1, 2, 3)...).State
	require.Equal(t, [][]byte{id(kept[0]), id(kept[1])}, ids(s), "the epoch has begun")
	require.Equal(t, uint64(1), s.Progress.Epoch)
}

// TestSiblings: a state is a value. If several blocks are executed on one state, no block changes
// the outcome of another block, however far the underlying slices have grown. A proposer tries
// blocks that are never decided.
func TestSiblings(t *testing.T) {
	s, r := apptest.State(9, mean), ring{signing: map[uint32]int{}}
	join := apptest.Join(9)
	s = step(t, s, join).State
	for i := range uint32(3) { // three elements in every list: a slice that grew by appends has room for a fourth
		key := 50 + int(i)
		x := rotate(3, r, key, 0, 0)
		s = r.round(t, s, x, r.approve(i, join), equivocation(4+i, 0, 0)).State
		r.signing[3] = key
	}
	at := s.Height + 1
	closed := r.closes(s, at)
	require.NotNil(t, closed)
	var states []*app.State
	var encoded [][]byte
	for _, others := range [][]*tx.Tx{
		{r.approve(7, join)}, {r.approve(8, join)}, {equivocation(7, 0, 0)}, {equivocation(8, 0, 0)},
		{rotate(3, r, 60, 0, 0)},
		{rotate(3, r, 61, 0, 0)}, {leave(7)}, {leave(8)}, {remove(0, 7)}, {remove(0, 8)}, {apptest.Join(20)},
		{apptest.Join(21)},
	} {
		for _, txs := range [][]*tx.Tx{others, slices.Concat(closed, others)} {
			out := step(t, s, txs...)
			states, encoded = append(states, out.State), append(encoded, out.State.Encode())
		}
	}
	for i := range states {
		require.True(t, bytes.Equal(encoded[i], states[i].Encode()), "block %d was changed by a later one", i)
	}
}

// TestApprovalsOfOthersStay: the first approver of a proposal cannot evict it by proposals of its
// own, with or without an accomplice, once honest participants have approved it. The proposal with
// the fewest approvals is dropped, and a proposal with more than f approvals is never dropped.
func TestApprovalsOfOthersStay(t *testing.T) {
	s := apptest.State(10, mean)
	join := apptest.Join(10)
	s = step(t, s, join, ring{}.approve(9, join)).State // member 9 approves before the honest ones
	for _, i := range []uint32{0, 1, 2, 3, 4} {
		s = step(t, s, ring{}.approve(i, join)).State
	}
	require.Len(t, s.Proposals[0].Approvals, 6)
	for range 5 { // its own proposals, each with the accomplice's approval
		x := remove(9, 0)
		s = step(t, s, x, ring{}.approve(8, x)).State
	}
	require.Equal(t, id(join), s.Proposals[0].Id)
	require.Len(t, s.Proposals, 5, "four of its own, and the join")
	s = round(t, s, ring{}.approve(5, join)).State
	require.Equal(t, 11, s.Active(), "the join passes")
	// Of its own proposals the one with the fewest approvals is dropped, although it is the newest.
	first := remove(7, 0)
	s = step(t, apptest.State(10, mean), first, ring{}.approve(8, first)).State
	for range 3 {
		s = step(t, s, remove(7, 0)).State
	}
	second := s.Proposals[1].Id
	s = step(t, s, remove(7, 0)).State
	require.Len(t, s.Proposals, 4)
	require.Equal(t, id(first), s.Proposals[0].Id)
	require.NotEqual(t, second, s.Proposals[1].Id, "the oldest of the least approved")
}
