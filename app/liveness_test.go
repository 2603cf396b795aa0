package app_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
)

// long lets a chain have many rounds, and penalises leaders.
func long(p *params.Params) { p.Training.Rounds, p.Reputation.PassedOver = 400, 100_000 }

// closeAfterCommits closes the open round of a chain with commit_reveal with the given participants'
// gradients, changed by the mutations, after the empty blocks that this takes.
func closeAfterCommits(t *testing.T, s *app.State, participants []int,
	mutate ...func(*tx.Gradient)) (out *app.Outcome) {
	t.Helper()
	blocks := roundOf(s, participants, mutate...)
	for range 20 {
		var err error
		out, err = s.Execute(app.Block{Height: s.Height + 1, Txs: blocks(s)})
		require.NoError(t, err)
		if s = out.State; out.Record != nil {
			return out
		}
	}
	require.Fail(t, "the round is not closed after 20 heights")
	return nil
}

// roundOf returns a function that makes the next block of the open round of s, in which the given
// participants commit themselves and send gradients, changed by the mutations, as soon as they may.
func roundOf(s *app.State, participants []int, mutate ...func(*tx.Gradient)) func(*app.State) []*tx.Tx {
	var gradients, commits []*tx.Tx
	for _, i := range participants {
		g := *apptest.Gradient(s, i).Gradient
		for _, m := range mutate {
			m(&g)
		}
		gradients = append(gradients, apptest.Sign(i, &g))
		commits = append(commits, apptest.CommitTo(s, i, gradients[len(gradients)-1]))
	}
	return func(s *app.State) []*tx.Tx {
		height := s.Height + 1
		for _, lead := range s.Progress.Ranking {
			if a, err := s.DraftAggregate(height, lead, gradients); err == nil {
				return s.Assemble(height, append(gradients, apptest.Sign(int(lead), a)), 0)
			}
		}
		return s.Commits(height, commits, 0)
	}
}

// observing returns a mutation by which the given participants state what they observed.
func observing(late, failed []uint32, by ...uint32) func(*tx.Gradient) {
	return func(g *tx.Gradient) {
		for _, i := range by {
			if g.Participant == i {
				g.Late, g.Failed = late, failed
			}
		}
	}
}

// TestAbsentParticipantRests: rounds wait for an absent participant in one round of 2, 4, 8, ... and
// so about log2(T) times in T rounds.
func TestAbsentParticipantRests(t *testing.T) {
	s := apptest.State(4, apptest.CommitReveal, long)
	var waited []uint64
	for s.Progress.Round < 300 {
		round, opened := s.Progress.Round, s.Height
		_, resting := s.RestEnds(3)
		s = closeAfterCommits(t, s, []int{0, 1, 2}).State
		if s.Height-opened > 2 {
			waited = append(waited, round)
		}
		require.Equal(t, !resting, s.Height-opened > 2, "round %d", round)
	}
	require.Equal(t, []uint64{0, 3, 8, 17, 34, 67, 132, 261}, waited)
	end, resting := s.RestEnds(3)
	require.True(t, resting)
	require.EqualValues(t, 261+1+256, end)
}

// TestObservations: F+1 gradients that state the same convict a participant or leader of the round
// before, and F gradients do not. What the last gradients of an epoch state counts for nothing.
func TestObservations(t *testing.T) {
	s := closeAfterCommits(t, apptest.State(4, apptest.CommitReveal, long), apptest.Indices(4)).State
	all, lead := apptest.Indices(4), s.Progress.Ranking[0]
	for name, c := range map[string]struct {
		by      []uint32
		convict bool
	}{"one": {[]uint32{0}, false}, "two": {[]uint32{0, 2}, true}, "all": {[]uint32{0, 1, 2, 3}, true}} {
		next := closeAfterCommits(t, s, all, observing([]uint32{3}, []uint32{lead}, c.by...)).State
		p, leader := next.Participants[3], next.Participants[lead]
		require.Equal(t, c.convict, next.IsResting(3), name)
		require.Equal(t, c.convict, p.Strikes == 1, name)
		require.Equal(t, c.convict, leader.PassedOver == 1 && leader.Reputation == params.One-100_000, name)
		require.Equal(t, c.convict, leader.Contends == next.Closed()+2, name)
	}
	first := apptest.State(4, apptest.CommitReveal, long)
	require.False(t, closeAfterCommits(t, first, all, observing([]uint32{3}, nil, 0, 1, 2, 3)).State.IsResting(3),
		"no round is before round 0")
}

// TestLeaderLosesNoMoreThanItsShare: the penalty of a leader leaves a tenth of the reputation, and
// its pauses double.
func TestLeaderLosesNoMoreThanItsShare(t *testing.T) {
	s := closeAfterCommits(t, apptest.State(4, apptest.CommitReveal, long), apptest.Indices(4)).State
	for k := range 14 {
		s = closeAfterCommits(t, s, apptest.Indices(4), observing(nil, []uint32{2}, 0, 1, 2, 3)).State
		require.Equal(t, s.Closed()+1<<min(k+1, 10), s.Participants[2].Contends)
		require.GreaterOrEqual(t, s.Participants[2].Reputation, int64(params.One/10))
	}
}

// TestObservationsAreRegistered: a gradient's observations are registered participants in increasing
// order, and not too many (G9).
func TestObservationsAreRegistered(t *testing.T) {
	s := apptest.State(4)
	for name, list := range map[string][]uint32{"not registered": {4}, "twice": {1, 1}, "not in order": {2, 1},
		"too many": make([]uint32, app.MaxObserved+1)} {
		for _, g := range []*tx.Gradient{{Late: list}, {Failed: list}} {
			g.Payload, g.VrfProof = apptest.Gradient(s, 0).Gradient.Payload, apptest.Proof(s, 0)
			require.ErrorIs(t, s.Admit(apptest.Sign(0, g)), app.ErrObservations, name)
		}
	}
}

// TestPresent: a Present ends a rest after the open round, once in 2^strikes rounds, and has no
// effect at another time or for an old round.
func TestPresent(t *testing.T) {
	s := apptest.State(4, apptest.CommitReveal, long)
	nonce := uint64(0)
	present := func(round uint64) *tx.Tx {
		nonce++
		return apptest.Sign(3, &tx.Present{Participant: 3, Round: round, Nonce: nonce})
	}
	require.Equal(t, s.Progress, next(t, s, present(0)).State.Progress, "nothing to end")
	for range 40 { // two waits at rounds 0 and 3, and so on
		s = closeAfterCommits(t, s, []int{0, 1, 2}).State
	}
	p := s.Participants[3]
	require.EqualValues(t, 5, p.Strikes) // of rounds 0, 3, 8, 17 and 34
	require.True(t, s.IsResting(3))
	stale := next(t, s, present(s.Progress.Round-2)).State
	require.Equal(t, p.Rests, stale.Participants[3].Rests, "of an old round")
	latest := next(t, s, present(math.MaxUint64)).State
	require.Equal(t, s.Closed()+1, latest.Participants[3].Rests, "of the last round there is")

	s = next(t, s, present(s.Progress.Round)).State
	require.True(t, s.IsResting(3), "the open round does not wait for it")
	s = closeAfterCommits(t, s, []int{0, 1, 2}).State
	require.True(t, s.Required(3), "the next one does")
	s = closeAfterCommits(t, s, []int{0, 1, 2}).State // a liar
	require.EqualValues(t, 6, s.Participants[3].Strikes)
	s = next(t, s, present(s.Progress.Round)).State
	for range 62 {
		s = closeAfterCommits(t, s, []int{0, 1, 2}).State
		require.True(t, s.IsResting(3), "one Present in 64 rounds")
	}
}

// TestLeaderChoosesNoSeed: with commit_reveal the seed and the ranking follow from the commitments,
// whatever gradients the leader includes.
func TestLeaderChoosesNoSeed(t *testing.T) {
	s := apptest.State(4, apptest.CommitReveal, long)
	commits := apptest.Commits(s, 0, 1, 2, 3)
	s = next(t, s, commits...).State
	for range s.Params.Election.QuorumBlocks {
		s = next(t, s).State
	}
	whole := next(t, s, apptest.Close(s, s.Height+1)...).State.Progress
	for _, some := range [][]int{{0, 1, 2}, {0, 1, 3}, {0, 2, 3}, {1, 2, 3}} {
		part := next(t, s, apptest.Close(s, s.Height+1, some...)...).State.Progress
		require.Equal(t, whole.Seed, part.Seed)
		require.Equal(t, whole.Ranking, part.Ranking)
	}
}

// TestEpochEndsRests: an epoch begins without strikes, rests and faults.
func TestEpochEndsRests(t *testing.T) {
	s := closeAfterCommits(t, apptest.State(4, apptest.CommitReveal, long), []int{0, 1, 2}).State
	s = closeAfterCommits(t, s, []int{0, 1, 2}, observing(nil, []uint32{1}, 0, 1, 2)).State
	require.True(t, s.IsResting(3))
	require.EqualValues(t, 1, s.Participants[1].PassedOver)
	x := ring{}.sign(0, app.NewStartEpoch(0, tick(), 1, s.Params, true, true))
	s = next(t, s, x, ring{}.approve(1, x), ring{}.approve(2, x)).State
	s = closeAfterCommits(t, s, []int{0, 1, 2}).State
	require.EqualValues(t, 1, s.Progress.Epoch)
	for _, p := range s.Participants {
		require.Zero(t, uint64(p.Strikes)+p.Rests+p.Presented+uint64(p.PassedOver))
	}
}
