package contribution_test

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/cmd/internal/contribution"
	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/internal/stage"
	"github.com/spdl/spdl/mnist"
)

// noise returns Gaussian noise alone, as strong as that of honest gradients: as the difference of
// two of them.
func noise(seed uint64) func(*app.State, [][]gradients.Vector) gradients.Vector {
	return func(s *app.State, sent [][]gradients.Vector) gradients.Vector {
		now := sent[s.Progress.Round]
		out := gradients.NewVector(now[0].Width(), now[0].Len())
		random := rand.New(rand.NewPCG(s.Progress.Round, seed))
		size := math.Sqrt(float64(gradients.SquaredDistance(now[0], now[1])) / 2 / float64(out.Len()))
		for i := range out.Len() {
			out.Set(i, int64(math.Round(max(-127, min(127, size*random.NormFloat64())))))
		}
		return out
	}
}

// late returns participant 0's gradient of the round before, with noise of a share of its size.
func late(seed uint64, share float64) func(*app.State, [][]gradients.Vector) gradients.Vector {
	return func(s *app.State, sent [][]gradients.Vector) gradients.Vector {
		if s.Progress.Round == 0 {
			return noise(seed)(s, sent)
		}
		old := sent[s.Progress.Round-1][0]
		out := gradients.NewVector(old.Width(), old.Len())
		random := rand.New(rand.NewPCG(s.Progress.Round, seed))
		size := share * math.Sqrt(float64(old.SquaredNorm())/float64(old.Len()))
		for i := range old.Len() {
			v := float64(old.At(i)) + size*random.NormFloat64()
			out.Set(i, int64(math.Round(max(-127, min(127, v)))))
		}
		return out
	}
}

// TestFreeRiders: participants that send noise or others' earlier gradients added nothing, within
// their intervals; copies are named; wrong labels are worth less than right ones, and every honest
// member with right labels added something.
func TestFreeRiders(t *testing.T) {
	stage.OnlyLong(t) // trains
	data, err := mnist.Embedded()
	require.NoError(t, err)
	members := graded(10, 0)
	members[5].wrong, members[6].wrong = 0.5, 0.5
	members[7].send, members[8].send, members[9].send = noise(7), late(8, 0), late(9, 0.02)
	p := shortSteps(t, 10)
	preset.SetRounds(&p, 25)
	r, _ := estimate(t, start(t, p, data, members, 3), data.Test, contribution.Options{Seed: 1})
	for _, m := range r.Members {
		t.Logf("member %d: Shapley %v, leave-one-out %v, copied %d of %v", m.Participant, m.Shapley, m.LeaveOneOut, m.Copied,
			m.CopiedFrom)
	}
	t.Logf("improvement %.4f, copied %.4f, rest %.4f", r.Improvement, r.Copied, r.Rest)
	for _, m := range r.Members[7:] {
		require.LessOrEqual(t, math.Abs(m.Shapley.Sum), *m.Shapley.Half, "rider %d", m.Participant)
		require.LessOrEqual(t, math.Abs(m.LeaveOneOut.Sum), *m.LeaveOneOut.Half, "rider %d", m.Participant)
	}
	for _, honest := range r.Members[:5] {
		require.Greater(t, honest.Shapley.Sum, *honest.Shapley.Half)
		require.Zero(t, honest.Copied)
		for _, wrong := range r.Members[5:7] {
			require.Greater(t, honest.Shapley.Sum, wrong.Shapley.Sum)
		}
	}
	require.Zero(t, r.Members[7].Copied)
	for _, copier := range r.Members[8:] {
		require.Equal(t, 24, copier.Copied)
		require.Contains(t, copier.CopiedFrom, uint32(0))
	}
	sum := r.Copied + r.Rest
	for _, m := range r.Members {
		sum += m.Shapley.Sum
	}
	require.InDelta(t, r.Improvement, sum, 1e-9, "Shapley values share out the whole improvement")
}

// BenchmarkEstimate is the estimate of one round of 20 members, without the training and without the
// inputs of the test set, which are computed once a chain.
func BenchmarkEstimate(b *testing.B) {
	data, err := mnist.Embedded()
	require.NoError(b, err)
	r := start(b, shortSteps(b, 20), data, graded(20, 0), 1)
	e, err := contribution.New(contribution.Options{Test: data.Test, Pairs: 2})
	require.NoError(b, err)
	closed, err := r.chain.Round()
	require.NoError(b, err)
	round, _ := app.Block{Txs: closed.Txs}.Round()
	require.NoError(b, e.Round(closed.Before, round)) // computes the inputs
	for b.Loop() {
		require.NoError(b, e.Round(closed.Before, round))
	}
	b.ReportMetric(b.Elapsed().Seconds()/float64(b.N)*100, "s/100-rounds")
}
