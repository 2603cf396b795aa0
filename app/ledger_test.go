package app_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/params"
)

// TestBudget: the ledger pays for a number of gradients, at the order that pays for most, and G7
// rejects the next one. Rounds do not wait for a participant without budget, and training is
// finished when fewer than N-f have budget left.
func TestBudget(t *testing.T) {
	s := apptest.State(4, apptest.Budgeted(3))
	require.Equal(t, uint64(3), s.Params.Privacy.Participations(nil))
	// Participant 0 misses a round, so it has one gradient more left than the others at the end.
	out, err := applyAt(s, 3, apptest.Close(s, 3, 1, 2, 3))
	require.NoError(t, err)
	s = out.State
	for range 2 {
		require.Equal(t, 4, s.MissingRequired(nil))
		out, err = s.Execute(app.Block{Height: s.Height + 1, Txs: apptest.Close(s, s.Height+1)})
		require.NoError(t, err)
		s = out.State
	}
	require.Equal(t, 1, s.MissingRequired(nil))
	require.True(t, s.Finished(), "one of four cannot close a round")
	require.Equal(t, uint64(3), s.Participants[1].Participations)
	require.Equal(t, 3*s.Params.Privacy.Cost[7], s.Participants[1].Spent[7])
	require.Zero(t, s.Params.Privacy.Participations(s.Participants[1].Spent))
	require.Equal(t, uint64(1), s.Params.Privacy.Participations(s.Participants[0].Spent))
	require.ErrorIs(t, s.Admit(apptest.Gradient(s, 1)), app.ErrFinished)
}

// TestBudgetOfOne: every validator rejects a participant that is over budget, in the pool and in a
// block, and the others go on at once.
func TestBudgetOfOne(t *testing.T) {
	s := apptest.State(4, apptest.Budgeted(3))
	for range 2 { // participant 3 takes part in none of the first rounds
		out, err := applyAt(s, s.Height+3, apptest.Close(s, s.Height+3, 1, 2, 3))
		require.NoError(t, err)
		s = out.State
	}
	s.Participants[3].Spent = s.Params.Privacy.Pay(s.Participants[3].Spent)
	again, err := app.DecodeState(s.Height, s.Encode())
	require.NoError(t, err)
	s = again
	require.Equal(t, 3, s.MissingRequired(nil))
	require.False(t, s.Finished())
	require.ErrorIs(t, s.Admit(apptest.Gradient(s, 3)), app.ErrBudget)
	out, err := s.Execute(app.Block{Height: s.Height + 1, Txs: apptest.Close(s, s.Height+1, 0, 1, 2)})
	require.NoError(t, err, "the round waits for nobody who cannot come")
	require.Len(t, out.Record.Contributions, 3)

	b := &block{s: s, height: s.Height + 1, txs: apptest.Close(s, s.Height+1, 0, 1, 2)}
	b.leader = int(b.txs[0].Aggregate.Leader)
	b.txs = append(b.txs, apptest.Gradient(s, 3))
	b.relist()
	_, err = s.Execute(app.Block{Height: b.height, Txs: b.txs})
	require.ErrorIs(t, err, app.ErrBudget)
}

// TestBudgetCarries: an epoch adds to the earlier spend.
func TestBudgetCarries(t *testing.T) {
	s := apptest.State(4, apptest.Budgeted(6), func(p *params.Params) { p.Training.Rounds = 2 })
	s = run(t, s, 2)[1]
	x := ring{}.sign(0, app.NewStartEpoch(0, tick(), 1, s.Params, true, false))
	s = step(t, s, x).State
	s = step(t, s, ring{}.approve(1, x), ring{}.approve(2, x)).State
	require.Equal(t, uint64(1), s.Progress.Epoch)
	require.Equal(t, uint64(4), s.Params.Privacy.Participations(s.Participants[1].Spent))
	require.Zero(t, s.Participants[1].Releases)
	s = run(t, s, 1)[0]
	require.Equal(t, uint64(1), s.Participants[1].Releases)
	require.Equal(t, uint64(3), s.Participants[1].Participations)
	require.Equal(t, 3*s.Params.Privacy.Cost[0], s.Participants[1].Spent[0])
}

// TestAccounted: after an epoch without a ledger that closed a round, no epsilon is valid, and a
// chain that was a test chain in one epoch counts as a test chain from then on.
func TestAccounted(t *testing.T) {
	with, without := apptest.Params(4, apptest.Budgeted(3)), apptest.Params(4)
	test := with
	test.TestChain = true
	require.True(t, app.Accounted(with, nil))
	require.False(t, app.Accounted(without, nil))
	require.True(t, app.Accounted(with, []app.Epoch{{Params: with, Rounds: 3}, {Params: without}}),
		"nothing was released in it")
	require.False(t, app.Accounted(with, []app.Epoch{{Params: without, Rounds: 1}, {Params: with, Rounds: 3}}))
	require.False(t, app.KnownNoise(with, []app.Epoch{{Params: with}}))
	require.True(t, app.KnownNoise(with, []app.Epoch{{Params: test}}))
	require.True(t, app.KnownNoise(test, nil))
}
