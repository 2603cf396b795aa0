package app_test

import (
	"crypto/ed25519"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
)

// run closes the given number of rounds, one block each, and returns the states after them.
func run(t *testing.T, s *app.State, rounds int) []*app.State {
	t.Helper()
	var states []*app.State
	for range rounds {
		out, err := s.Execute(app.Block{Height: s.Height + 1, Txs: apptest.Close(s, s.Height+1)})
		require.NoError(t, err)
		s = out.State
		states = append(states, s)
	}
	return states
}

func TestEmptyBlockKeepsTheHash(t *testing.T) {
	s := apptest.State(4)
	out, err := s.Execute(app.Block{Height: 1})
	require.NoError(t, err)
	require.Nil(t, out.Record)
	require.Equal(t, s.Hash(), out.State.Hash(), "otherwise CometBFT makes empty blocks without end")
	require.Equal(t, uint64(1), out.State.Height)
	require.Equal(t, uint64(0), s.Height, "the state before is not changed")
}

func TestEncodeDecode(t *testing.T) {
	for _, momentum := range []float64{0, 0.5} {
		s := apptest.State(4, func(p *params.Params) { p.Training.Momentum = momentum })
		for range 5 {
			after := run(t, s, 1)[0]
			s = after
			again, err := app.DecodeState(after.Height, after.Encode())
			require.NoError(t, err)
			require.Equal(t, after.Hash(), again.Hash())
			require.Equal(t, after, again)
		}
	}
	_, err := app.DecodeState(1, []byte{0xff})
	require.Error(t, err)
}

func TestFinished(t *testing.T) {
	s := apptest.State(4, func(p *params.Params) { p.Training.Rounds = 2 })
	states := run(t, s, 2)
	last := states[1]
	require.True(t, last.Finished())
	g := apptest.Gradient(s, 0)
	require.ErrorIs(t, last.Admit(g), app.ErrFinished)
	_, err := last.DraftAggregate(3, last.Progress.Ranking[0], nil)
	require.ErrorIs(t, err, app.ErrFinished)
	require.Nil(t, last.Assemble(3, nil, 0))
	_, err = last.Execute(app.Block{Height: 3, Txs: []*tx.Tx{g}})
	require.ErrorIs(t, err, app.ErrOrder)
	_, err = last.Execute(app.Block{Height: 3, Txs: apptest.Close(s, 1)})
	require.ErrorIs(t, err, app.ErrFinished)
}

// TestViews walks the heights of a round whose leaders are silent: rank 0 may close it at once,
// rank r from height opened + quorum_blocks + r*view_blocks on, and every participant after the
// last rank.
func TestViews(t *testing.T) {
	s := apptest.State(4)
	pending := apptest.Gradients(s, 0, 1, 2, 3)
	ranking := s.Progress.Ranking
	require.Len(t, ranking, 4)
	for height := uint64(1); height <= 14; height++ {
		open := max(0, int(height)-3) / 2
		for rank, p := range ranking {
			a, err := s.DraftAggregate(height, p, pending)
			if rank > open {
				require.ErrorIs(t, err, app.ErrNotLeader)
				continue
			}
			require.NoError(t, err)
			require.Equal(t, uint32(rank), a.View, "the lowest view that is the participant's")
			txs := s.Assemble(height, append(pending, apptest.Sign(int(p), a)), 0)
			require.Len(t, txs, 5)
			out, err := applyAt(s, height, txs)
			require.NoError(t, err)
			require.Equal(t, uint32(rank), out.Record.View)
			require.Equal(t, height+1, out.State.Progress.Opened)
		}
	}
	// In the last view the lowest rank may also sign view 4.
	a, err := s.DraftAggregate(9, ranking[3], pending)
	require.NoError(t, err)
	a.View = 4
	require.NoError(t, s.Admit(apptest.Sign(int(ranking[3]), a)))
	// Every participant may sign view 5, which is the last.
	a.Leader, a.View = ranking[2], 5
	x := apptest.Sign(int(ranking[2]), a)
	require.NoError(t, s.Admit(x))
	txs := append([]*tx.Tx{x}, pending...)
	_, err = applyAt(s, 12, txs)
	require.ErrorIs(t, err, app.ErrViewClosed)
	_, err = applyAt(s, 13, txs)
	require.NoError(t, err)
	a.View = 6
	require.ErrorIs(t, s.Admit(apptest.Sign(int(ranking[2]), a)), app.ErrNotLeader)
}

// applyAt executes a block at a height with empty blocks before it.
func applyAt(s *app.State, height uint64, txs []*tx.Tx) (*app.Outcome, error) {
	for s.Height+1 < height {
		out, err := s.Execute(app.Block{Height: s.Height + 1})
		if err != nil {
			return nil, err
		}
		s = out.State
	}
	return s.Execute(app.Block{Height: height, Txs: txs})
}

// TestSilent: a round closes without up to f participants, after quorum_blocks heights.
func TestSilent(t *testing.T) {
	s := apptest.State(4)
	present := apptest.Gradients(s, 0, 2, 3)
	leader := s.Progress.Ranking[0]
	for height := uint64(1); height < 3; height++ {
		_, err := s.DraftAggregate(height, leader, present)
		require.ErrorIs(t, err, app.ErrNotClosing)
	}
	a, err := s.DraftAggregate(3, leader, present)
	require.NoError(t, err)
	out, err := applyAt(s, 3, s.Assemble(3, append(present, apptest.Sign(int(leader), a)), 0))
	require.NoError(t, err)
	require.Len(t, out.Record.Contributions, 3)
	require.Equal(t, uint64(0), out.State.Participants[1].Participations)
	require.Equal(t, uint64(1), out.State.Participants[2].Participations)
	require.Equal(t, int64(params.One), out.State.Participants[1].Reputation, "silence costs no reputation")
	_, err = s.DraftAggregate(100, leader, present[:2])
	require.ErrorIs(t, err, app.ErrNotClosing)
}

func TestAssembleLimit(t *testing.T) {
	s := apptest.State(4)
	txs := apptest.Close(s, 1)
	var size int64
	for _, x := range txs {
		size += int64(len(x.Raw)) + 2 // one byte of tag, and a length below 128
		if len(x.Raw) > 127 {
			size++
		}
	}
	require.Len(t, s.Assemble(1, txs, size), 5)
	require.Nil(t, s.Assemble(1, txs, size-1))
	require.Nil(t, s.Assemble(1, txs[1:], 0), "no aggregate")
	require.Nil(t, s.Assemble(1, txs[:4], 0), "a listed gradient is missing")
}

func TestAdmit(t *testing.T) {
	s := run(t, apptest.State(4), 2)[1]
	at := func(round uint64) *tx.Tx {
		g := *apptest.Gradient(s, 1).Gradient
		g.Round = round
		return apptest.Sign(1, &g)
	}
	require.NoError(t, s.Admit(at(2)))
	require.NoError(t, s.Admit(at(3)), "a faster peer may be a round ahead")
	require.ErrorIs(t, s.Admit(at(1)), app.ErrWrongRound)
	require.ErrorIs(t, s.Admit(at(4)), app.ErrWrongRound)
	last := apptest.State(4, func(p *params.Params) { p.Training.Rounds = 3 })
	last = run(t, last, 2)[1]
	require.ErrorIs(t, last.Admit(at(3)), app.ErrWrongRound, "there is no round 3 of 3")
	require.NoError(t, s.Admit(apptest.Close(s, 3)[0]))
}

// TestReputation: the exact angle decides, 0 is absorbing, and the bounds hold.
func TestReputation(t *testing.T) {
	s := apptest.State(4, func(p *params.Params) {
		p.Rule.Name = "mean"
		p.Reputation.Penalty = 400_000
		p.Training.Rounds = 1000
	})
	for round := range 8 {
		pending := apptest.Gradients(s, 0, 1, 2)
		against := apptest.Vector(1, 8, s.Progress.Round, 0)
		for i := range against.Len() {
			against.Set(i, -against.At(i)/4)
		}
		pending = append(pending, apptest.Sign(3, &tx.Gradient{Round: s.Progress.Round, Participant: 3,
			Payload: against.Encode(), VrfProof: apptest.Proof(s, 3)}))
		leader := s.Progress.Ranking[0]
		a, err := s.DraftAggregate(s.Height+1, leader, pending)
		require.NoError(t, err)
		out, err := s.Execute(app.Block{Height: s.Height + 1,
			Txs: s.Assemble(s.Height+1, append(pending, apptest.Sign(int(leader), a)), 0)})
		require.NoError(t, err)
		s = out.State
		require.True(t, out.Record.Contributions[3].Opposed)
		want := max(0, int64(params.One)-400_000*int64(round+1))
		require.Equal(t, want, s.Participants[3].Reputation)
		require.Equal(t, int64(params.One), s.Participants[0].Reputation)
		if want == 0 {
			require.NotContains(t, s.Progress.Ranking, uint32(3), "a reputation of 0 forbids leading")
		}
	}
}

// TestAllZero: if no participant has a reputation, every participant may lead; otherwise the chain
// would stall.
func TestAllZero(t *testing.T) {
	s := apptest.State(4)
	for i := range s.Participants {
		s.Participants[i].Reputation = 0
	}
	for p := range uint32(4) {
		_, err := s.DraftAggregate(1, p, apptest.Gradients(s, 0, 1, 2, 3))
		require.NoError(t, err)
	}
	_, err := s.Execute(app.Block{Height: 1, Txs: apptest.Close(s, 1)})
	require.NoError(t, err)
}

// TestZeros tests the paper's option: "neighbor acts like receiving g_i = 0".
func TestZeros(t *testing.T) {
	s := apptest.State(4, func(p *params.Params) { p.Rule.Name, p.Rule.Zeros = "mean", true })
	txs := apptest.Close(s, 3, 0, 1, 3)
	out, err := applyAt(s, 3, txs)
	require.NoError(t, err)
	var sum int64
	for _, i := range []uint64{0, 1, 3} {
		sum += apptest.Vector(1, 8, 0, i).At(0)
	}
	require.InDelta(t, -0.5*float64(sum)/4/64, out.State.Model[0], 1e-15, "divided by N, not by the included")
	require.Len(t, out.Record.Contributions, 3)
}

func TestFind(t *testing.T) {
	s := apptest.State(4)
	p, ok := s.Find(apptest.Key(2).Public().(ed25519.PublicKey))
	require.True(t, ok)
	require.Equal(t, uint32(2), p.Index)
	_, ok = s.Find(apptest.Key(7).Public().(ed25519.PublicKey))
	require.False(t, ok)
}

// TestRecordIsLinear: a record takes at most 100 bytes a participant, and no part of an entry grows
// with the number of participants.
func TestRecordIsLinear(t *testing.T) {
	for _, n := range []int{40, 120} {
		s := apptest.State(n)
		record := round(t, s).Record
		require.Len(t, record.Contributions, n)
		require.LessOrEqual(t, record.Size(), 100*n)
	}
}
