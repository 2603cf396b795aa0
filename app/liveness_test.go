package app_test

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/params"
)

// closes executes the next block, which closes the round with the given participants' gradients.
func closes(s *app.State, participants ...int) (*app.Outcome, error) {
	return s.Execute(app.Block{Height: s.Height + 1, Txs: apptest.Close(s, s.Height+1, participants...)})
}

// without closes a round without participant 3, after the empty blocks that this takes, and returns
// the number of blocks.
func without(t *testing.T, s *app.State) (*app.State, int) {
	t.Helper()
	for blocks := 1; ; blocks++ {
		require.LessOrEqual(t, blocks, 10)
		out, err := s.Execute(app.Block{Height: s.Height + 1, Txs: ring{}.closes(s, s.Height+1, 0, 1, 2)})
		require.NoError(t, err)
		s = out.State
		if out.Record != nil {
			return s, blocks
		}
	}
}

// TestWhoIsAwayIsNotAwaited: after a participant missed three rounds in a row, rounds close in one
// block without it, except for the probe rounds, which become rarer. After two of its gradients
// rounds wait for it again.
func TestWhoIsAwayIsNotAwaited(t *testing.T) {
	s := apptest.State(4, func(p *params.Params) { p.Training.Rounds = 400 })
	var blocks []int
	probes := []uint64{16, 32, 64, 128, 256, 384}
	for round := range uint64(290) {
		var n int
		if next, inactive := s.NextProbe(3); round < 3 {
			require.False(t, inactive)
		} else {
			require.True(t, inactive)
			i, _ := slices.BinarySearch(probes, round)
			require.Equal(t, probes[i], next, "round %d", round)
		}
		s, n = without(t, s)
		blocks = append(blocks, n)
	}
	for round, n := range blocks {
		want := 1
		if round < 3 || slices.Contains(probes, uint64(round)) {
			want = 3 // quorum_blocks is 2
		}
		require.Equal(t, want, n, "round %d", round)
	}

	require.Zero(t, s.MissingRequired([]uint32{0, 1, 2}))
	require.Equal(t, 1, s.MissingRequired([]uint32{0, 1, 3}), "who is away stands in for nobody")
	require.Nil(t, ring{}.closes(s, s.Height+1, 0, 1, 3))
	out, err := closes(s, 0, 1, 2, 3)
	require.NoError(t, err)
	require.Len(t, out.Record.Contributions, 4)
	s = out.State
	require.NotContains(t, s.Progress.Ranking, uint32(3), "the leader could have left it out")
	require.Zero(t, s.MissingRequired([]uint32{0, 1, 2}), "one gradient does not end the longest absence")
	out, err = closes(s, 0, 1, 2, 3)
	require.NoError(t, err)
	s = out.State
	require.Equal(t, 1, s.MissingRequired([]uint32{0, 1, 2}))
	out, err = closes(s, 0, 1, 2, 3)
	require.NoError(t, err)
	require.Contains(t, out.State.Progress.Ranking, uint32(3))
}

// TestAbsenceIsARate: a participant that takes part in one round of three is inactive, and only
// probe rounds wait for it. A participant that is left out of each third round is not inactive.
func TestAbsenceIsARate(t *testing.T) {
	for _, c := range []struct {
		name   string
		takes  func(round int) bool
		waited int // maximum, of 96 rounds in steady state
	}{
		{"one of three", func(round int) bool { return round%3 == 0 }, 4},
		{"one of two", func(round int) bool { return round%2 == 0 }, 4},
		{"two of three", func(round int) bool { return round%3 != 0 }, 32},
	} {
		s := apptest.State(4, func(p *params.Params) { p.Training.Rounds = 200 })
		waited, away := 0, 0
		for round := range 128 {
			if round >= 32 && s.MissingRequired([]uint32{0, 1, 2}) == 0 {
				away++
			}
			if c.takes(round) {
				out, err := closes(s, 0, 1, 2, 3)
				require.NoError(t, err)
				s = out.State
				continue
			}
			var blocks int
			if s, blocks = without(t, s); round >= 32 && blocks > 1 {
				waited++
			}
		}
		t.Logf("%s: %d of 96 rounds waited, away in %d", c.name, waited, away)
		require.LessOrEqual(t, waited, c.waited, c.name)
		if c.name == "two of three" {
			require.Zero(t, away)
		}
	}
}

// TestLotOfWhoWasAwayDoesNotMoveTheSeed: a leader may include an inactive participant or not,
// without a wait, and that choice has no effect on the election.
func TestLotOfWhoWasAwayDoesNotMoveTheSeed(t *testing.T) {
	s := apptest.State(4)
	for range 5 {
		s, _ = without(t, s)
	}
	with, err := closes(s, 0, 1, 2, 3)
	require.NoError(t, err)
	alone, err := closes(s, 0, 1, 2)
	require.NoError(t, err)
	require.Equal(t, alone.State.Progress.Seed, with.State.Progress.Seed)
	require.Equal(t, alone.State.Progress.Ranking, with.State.Progress.Ranking)
}
