package app_test

import (
	"bytes"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/leader"
	"github.com/spdl/spdl/app/tx"
)

var ticks uint64

// tick is a nonce above all before.
func tick() uint64 { ticks++; return ticks }

func id(t *tx.Tx) []byte {
	id := t.ID()
	return id[:]
}

// ring tells which of apptest's keys a participant signs and draws with, where
// it is not the one of its index.
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
		VrfProof: leader.Prove(apptest.VRFKey(r.vrfKey(index)), s.DrawInput()),
	})
}

func (r ring) approve(index uint32, proposal *tx.Tx) *tx.Tx {
	return r.sign(index, &tx.Approve{Participant: index, Proposal: id(proposal)})
}

// active lists the indices of those who take part.
func active(s *app.State) (out []uint32) {
	for _, p := range s.Participants {
		if p.Active {
			out = append(out, p.Index)
		}
	}
	return out
}

// closes gives the transactions that close the open round at a height, of all
// participants or the given ones; nil while nobody may lead.
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

// lead gives the transactions that close the open round with the pending
// gradients, by the first who may; nil where nobody may.
func (r ring) lead(s *app.State, height uint64, pending []*tx.Tx) []*tx.Tx {
	for _, index := range append(append([]uint32{}, s.Progress.Ranking...), active(s)...) {
		if a, err := s.Lead(height, index, pending); err == nil {
			return s.Assemble(height, append(pending, r.sign(index, a)), 0)
		}
	}
	return nil
}

// ripe lets empty blocks pass until everybody can close the round.
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

// round closes the open round, others behind it in the same block.
func (r ring) round(t require.TestingT, s *app.State, others ...*tx.Tx) *app.Outcome {
	s, txs := r.ripe(t, s)
	return step(t, s, append(txs, others...)...)
}

// round closes the open round with the participants' first keys.
func round(t require.TestingT, s *app.State, others ...*tx.Tx) *app.Outcome {
	return ring{}.round(t, s, others...)
}

// step executes a block and holds what every block must hold: the state before
// stays as it is, and the one after survives its encoding.
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
	require.Equal(t, len(txs) > 0, out.Changed)
	return out
}

var sentinels = []error{
	app.ErrWrongRound, app.ErrNotParticipant, app.ErrPayload, app.ErrGradientSigned, app.ErrProof,
	app.ErrAggregateRound, app.ErrNotLeader, app.ErrViewClosed, app.ErrIncluded, app.ErrTooFewIncluded, app.ErrAggregateSigned, app.ErrDeltaForm,
	app.ErrIdentity, app.ErrKeyTaken, app.ErrSender, app.ErrOtherSigned, app.ErrProposal, app.ErrInfeasible,
	app.ErrEvidence, app.ErrEvidenceSigned, app.ErrSettled, app.ErrEpoch, app.ErrEpochParams,
	app.ErrOrder, app.ErrMismatch, app.ErrTolerance, app.ErrFinished, app.ErrHeight, app.ErrTooMany, app.ErrGenesis, app.ErrNotClosing,
}

// exactly requires that an error wraps one rule and no other.
func exactly(t require.TestingT, want, err error) {
	for _, rule := range sentinels {
		require.Equal(t, rule == want, errors.Is(err, rule), "want %v: got %v", want, err)
	}
}

// refused requires that the pool, a block with the transaction alone and a block
// that closes the round in front of it name the rule, that Others leaves it out,
// and that none of it changes the state.
func (r ring) refused(t require.TestingT, s *app.State, want error, x *tx.Tx) {
	before := s.Encode()
	exactly(t, want, s.Admit(x))
	_, err := s.Execute(app.Block{Height: s.Height + 1, Txs: []*tx.Tx{x}})
	exactly(t, want, err)
	if txs := r.closes(s, s.Height+1); txs != nil {
		_, err = s.Execute(app.Block{Height: s.Height + 1, Txs: append(txs, x)})
		exactly(t, want, err)
	}
	require.Empty(t, s.Others([]*tx.Tx{x}, nil, 0))
	require.True(t, bytes.Equal(before, s.Encode()), "a refused transaction must not change the state")
}

func refused(t require.TestingT, s *app.State, want error, x *tx.Tx) { ring{}.refused(t, s, want, x) }

// votes is a proposal with the approvals of participants.
func votes(proposal *tx.Tx, by ...uint32) []*tx.Tx {
	txs := []*tx.Tx{proposal}
	for _, index := range by {
		txs = append(txs, ring{}.approve(index, proposal))
	}
	return txs
}

func leave(i uint32) *tx.Tx { return ring{}.sign(i, &tx.Leave{Participant: i, Nonce: tick()}) }

func remove(by, subject uint32) *tx.Tx {
	return ring{}.sign(by, &tx.Remove{Participant: by, Subject: subject})
}

func restore(by, subject uint32, nonce uint64) *tx.Tx {
	return ring{}.sign(by, &tx.Restore{Participant: by, Subject: subject, Nonce: tick()})
}

func mean(p *app.Params) { p.Rule.Name = "mean" }

// TestThreshold: "accepted when 3 * approvals > 2N", the proposer's own approval
// of what it proposes included, and made at the next boundary, not before.
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
			// A boundary keeps what waits for approvals.
			if voted == 1 {
				out := round(t, s)
				require.Empty(t, out.Changes)
				s = out.State
			}
		}
		require.EqualValues(t, n, s.Active(), "not before the boundary")
		out := round(t, s)
		require.EqualValues(t, n+1, out.State.Active())
		require.Empty(t, out.State.Proposals)
		require.Equal(t, []app.Change{{Kind: tx.KindJoin, Participant: n, Proposal: join.Content[:]}}, out.Changes)
		if n < 3 {
			continue
		}
		// With its own approval, the proposer of a removal needs one less.
		s = step(t, apptest.State(int(n), mean), remove(0, n-1)).State
		for i := range uint32(s.Threshold() - 1) {
			require.False(t, s.Proposals[0].Accepted)
			s = step(t, s, ring{}.approve(n-1-i, remove(0, n-1))).State
		}
		require.True(t, s.Proposals[0].Accepted)
	}
}

// TestOneAlone: a consortium of one accepts what it proposes at once.
func TestOneAlone(t *testing.T) {
	s := apptest.State(1, mean)
	for index, kind := range []tx.Kind{tx.KindRestore, tx.KindStartEpoch} {
		s.Participants[0].Reputation = 0
		x := restore(0, 0, 0)
		if kind == tx.KindStartEpoch {
			x = ring{}.sign(0, app.NewStartEpoch(0, tick(), 1, s.Params, true, true))
		}
		out := round(t, s, x)
		require.Len(t, out.Changes, 1, "%d", index)
		require.Equal(t, kind, out.Changes[0].Kind)
		require.NoError(t, out.Changes[0].Refused)
	}
	refused(t, s, app.ErrInfeasible, remove(0, 0))
	refused(t, s, app.ErrInfeasible, leave(0))
}

// TestApprovalsOfTheActive: "approvals of active participants counted at each
// vote". Who has left does not count any more, in votes and in N.
func TestApprovalsOfTheActive(t *testing.T) {
	s := apptest.State(7, mean)
	join := apptest.Join(7)
	s = step(t, s, votes(join, 0, 1, 2, 3)...).State // 4 of 7
	s = round(t, s, leave(3)).State                  // 3 of 6
	for i, accepted := range map[uint32]bool{4: false} {
		s = step(t, s, ring{}.approve(i, join)).State // 4 of 6: 12 is not above 12
		require.Equal(t, accepted, s.Proposals[0].Accepted)
	}
	s = step(t, s, ring{}.approve(5, join)).State // 5 of 6
	require.True(t, s.Proposals[0].Accepted)
	require.Equal(t, []uint32{0, 1, 2, 3, 4, 5}, s.Proposals[0].Approvals)
	require.Equal(t, 7, round(t, s).State.Active())
}

// TestProposalRules is M5, each way to break it.
func TestProposalRules(t *testing.T) {
	s := apptest.State(5)
	join := apptest.Join(5)
	motions := []*tx.Tx{remove(0, 4), remove(0, 3), ring{}.sign(0, &tx.Remove{Participant: 0, Subject: 4, Nonce: tick()})}
	rotation := rotate(3, ring{}, 53, 0, 0)
	s = step(t, s, append(votes(join, 0, 1, 2, 3), append(motions, remove(1, 4), rotation)...)...).State
	s = step(t, s, ring{}.sign(0, app.NewStartEpoch(0, tick(), 1, s.Params, true, true))).State
	require.Len(t, s.Proposals, 7)
	require.True(t, s.Proposals[0].Accepted)
	fifth := ring{}.sign(0, &tx.Remove{Participant: 0, Subject: 2})
	for name, x := range map[string]*tx.Tx{
		"approval of nothing":              ring{}.sign(1, &tx.Approve{Participant: 1}),
		"approval of what never was":       ring{}.approve(1, apptest.Join(6)),
		"approval of what is accepted":     ring{}.approve(4, join),
		"approval of a rotation":           ring{}.approve(4, rotation),
		"approval twice":                   ring{}.approve(0, join),
		"approval of one's own":            ring{}.approve(1, remove(1, 4)),
		"the same proposal":                remove(1, 4),
		"the fifth proposal of its sender": fifth,
		"the fifth, a restore":             ring{}.sign(0, &tx.Restore{Participant: 0, Subject: 4, Nonce: tick()}),
		"the fifth, an epoch":              ring{}.sign(0, app.NewStartEpoch(0, tick(), 1, s.Params, false, true)),
		"a second rotation":                rotate(3, ring{}, 0, 54, 0),
		"a restore of a reputation":        restore(1, 2, 0),
	} {
		if want := app.ErrProposal; !errors.Is(s.Admit(x), want) {
			t.Errorf("%s: %v", name, s.Admit(x))
		}
		refused(t, s, app.ErrProposal, x)
	}
	// Once accepted a motion leaves room for another.
	s = step(t, s, ring{}.approve(1, motions[1]), ring{}.approve(2, motions[1]), ring{}.approve(3, motions[1])).State
	require.NoError(t, s.Admit(fifth))
	refused(t, step(t, s, leave(2)).State, app.ErrProposal, leave(2))
	// Others of the same meaning are told apart by the nonce, others' by the sender.
	require.NoError(t, s.Admit(ring{}.sign(1, &tx.Remove{Participant: 1, Subject: 4, Nonce: tick()})))
	require.NoError(t, s.Admit(remove(2, 4)))
}

// TestEviction: "At most 64 Joins wait: the oldest without approval makes room."
// So outsiders can neither fill the state nor evict what a participant wants.
func TestEviction(t *testing.T) {
	s := apptest.State(4)
	wanted := apptest.Join(100)
	s = step(t, s, votes(wanted, 0)...).State
	var joins []*tx.Tx
	for i := range 70 {
		joins = append(joins, apptest.Join(101+i))
		s = step(t, s, joins[i]).State
		require.LessOrEqual(t, len(s.Proposals), 64)
	}
	require.Len(t, s.Proposals, 64)
	require.Equal(t, wanted.Content[:], s.Proposals[0].Id)
	require.Equal(t, joins[7].Content[:], s.Proposals[1].Id)
	refused(t, s, app.ErrProposal, ring{}.approve(1, joins[6]))
	require.NoError(t, s.Admit(joins[6]), "one that made room may ask again")
	refused(t, s, app.ErrKeyTaken, joins[7])
	// Proposals of participants take no room of joins, and no join evicts them.
	s = step(t, s, remove(0, 3), apptest.Join(99)).State
	require.Len(t, s.Proposals, 65)
	require.Equal(t, joins[8].Content[:], s.Proposals[1].Id)
	// All of one block.
	flood := make([]*tx.Tx, 64)
	for i := range flood {
		flood[i] = apptest.Join(200 + i)
	}
	require.Len(t, s.Others(append(flood, apptest.Join(300)), nil, 0), 64, "B6")
	s = step(t, s, flood...).State
	require.Len(t, s.Proposals, 65)
	require.Equal(t, wanted.Content[:], s.Proposals[0].Id)
}

// TestBoundary: "accepted changes in the order in which they came. One that M2,
// M6, P1 or P2 forbids by now is dropped with an event."
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
			return append(votes(remove(0, 3), 1, 2), votes(remove(1, 2), 0, 3)...)
		}, []error{nil, app.ErrInfeasible}, 3},
		"one removed twice, M3": {5, func(*app.State) []*tx.Tx {
			return append(votes(remove(0, 3), 1, 2, 4), votes(remove(1, 3), 0, 2, 4)...)
		}, []error{nil, app.ErrSender}, 4},
		"a rotation of who is removed, M3": {5, func(*app.State) []*tx.Tx {
			return append(votes(remove(0, 3), 1, 2, 4), rotate(3, ring{}, 53, 0, 0))
		}, []error{nil, app.ErrSender}, 4},
		"two epochs, P1": {4, func(s *app.State) []*tx.Tx {
			return append(votes(epoch(0, s, true), 1, 2), votes(epoch(1, s, true), 0, 2)...)
		}, []error{nil, app.ErrEpoch}, 4},
		"an epoch for who has left, P2": {4, func(s *app.State) []*tx.Tx {
			return append([]*tx.Tx{leave(3)}, votes(tall(0, s), 1, 2)...)
		}, []error{nil, app.ErrEpochParams}, 3},
		"restored twice, M5": {4, func(*app.State) []*tx.Tx {
			return slices.Concat([]*tx.Tx{equivocation(3, 0, 0)}, votes(restore(0, 3, 0), 1, 2), votes(restore(1, 3, 0), 0, 2))
		}, []error{nil, app.ErrProposal}, 4},
		"restored and gone, M3": {4, func(*app.State) []*tx.Tx {
			return slices.Concat([]*tx.Tx{equivocation(3, 0, 0), leave(3)}, votes(restore(0, 3, 0), 1, 2))
		}, []error{nil, app.ErrSender}, 3},
		"a departure makes room": {5, func(*app.State) []*tx.Tx {
			return append(append(votes(remove(0, 4), 1, 2, 3), leave(3)), votes(apptest.Join(5), 0, 1, 2, 3)...)
		}, []error{nil, nil, nil}, 4},
	} {
		s := apptest.State(c.n)
		out := round(t, s, c.others(s)...)
		require.Len(t, out.Changes, len(c.want), name)
		for i, change := range out.Changes {
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

// TestOneConsensusKey: of two accepted joins with one consensus key one is made,
// for CometBFT halts on two updates of one validator.
func TestOneConsensusKey(t *testing.T) {
	a := joinAs(4, func(j *tx.Join) { j.ConsensusKey = apptest.ConsensusKey(77) })
	b := joinAs(5, func(j *tx.Join) { j.ConsensusKey = apptest.ConsensusKey(77) })
	out := round(t, apptest.State(4), slices.Concat([]*tx.Tx{a, b}, votes(a, 0, 1, 2)[1:], votes(b, 0, 1, 2)[1:])...)
	require.Len(t, out.Changes, 2)
	refused := []error{out.Changes[0].Refused, out.Changes[1].Refused}
	require.Contains(t, refused, nil)
	exactly(t, app.ErrKeyTaken, errors.Join(refused...))
	require.Equal(t, []app.ValidatorUpdate{{ConsensusKey: apptest.ConsensusKey(77), Power: 10}}, out.Validators)
	require.Equal(t, 5, out.State.Active())
}

// TestStale: what no approval can make possible any more goes at a boundary;
// what may be waits on.
func TestStale(t *testing.T) {
	s := apptest.State(6, mean)
	s = round(t, s, equivocation(5, 0, 0)).State
	kept := []*tx.Tx{remove(1, 3), apptest.Join(9), restore(1, 5, 0)}
	s = step(t, s, append(kept, remove(1, 4), remove(4, 5), ring{}.sign(1, app.NewStartEpoch(1, tick(), 1, s.Params, true, true)))...).State
	ids := func(s *app.State) (out [][]byte) {
		for _, p := range s.Proposals {
			out = append(out, p.Id)
		}
		return out
	}
	require.Len(t, ids(round(t, s).State), 6, "a boundary alone changes nothing")
	s = round(t, s, leave(4)).State
	require.Len(t, s.Proposals, 5, "who has left needs not be removed; what it proposed waits")
	require.Equal(t, kept[2].Content[:], ids(s)[2])
	s = round(t, s, votes(restore(0, 5, 1), 1, 2, 3)...).State
	require.Len(t, s.Proposals, 4, "who is restored needs it not twice")
	s = round(t, s, votes(ring{}.sign(0, app.NewStartEpoch(0, tick(), 1, s.Params, true, true)), 1, 2, 3)...).State
	require.Equal(t, [][]byte{kept[0].Content[:], kept[1].Content[:], remove(4, 5).Content[:]}, ids(s), "the epoch has begun")
	require.Equal(t, uint64(1), s.Progress.Epoch)
}

// TestSiblings: states are values: of many blocks on one state none changes
// another's outcome, however far the lists behind them have grown. A proposer
// tries blocks that are never decided.
func TestSiblings(t *testing.T) {
	s, r := apptest.State(9, mean), ring{signing: map[uint32]int{}}
	join := apptest.Join(9)
	s = step(t, s, join).State
	for i := range uint32(3) { // three of everything: in a slice that grew by appends the fourth has room
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
		{r.approve(7, join)}, {r.approve(8, join)}, {equivocation(7, 0, 0)}, {equivocation(8, 0, 0)}, {rotate(3, r, 60, 0, 0)},
		{rotate(3, r, 61, 0, 0)}, {leave(7)}, {leave(8)}, {remove(0, 7)}, {remove(0, 8)}, {apptest.Join(20)}, {apptest.Join(21)},
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
