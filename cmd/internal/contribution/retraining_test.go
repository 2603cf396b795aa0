package contribution_test

import (
	"flag"
	"math"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/cmd/internal/contribution"
	"github.com/spdl/spdl/internal/stage"
	"github.com/spdl/spdl/mnist"
	"github.com/spdl/spdl/testnet/sim"
)

// estimate trains and returns the report on all rounds, with the final test loss.
func estimate(t testing.TB, r *training, test mnist.Set, o contribution.Options) (contribution.Report, float64) {
	t.Helper()
	o.Test = test
	if o.Pairs == 0 {
		o.Pairs = 2
	}
	e, err := contribution.New(o)
	require.NoError(t, err)
	loss := r.end(t, test, func(c sim.Closed) {
		round, _ := app.Block{Txs: c.Txs}.Round()
		require.NoError(t, e.Round(c.Before, round))
	})
	return e.Report(r.chain.State()), loss
}

// The training of TestRetraining. 10 members take about a minute; for 20, which take minutes:
//
//	SPDL_TEST_LONG=1 go test ./cmd/internal/contribution -run Retraining -v -members 20
var (
	retrained   = flag.Int("members", 10, "members of the training that is repeated without each of them")
	retrainSeed = flag.Uint64("seed", 1, "its seed")
)

// TestRetraining: members with more and more wrong labels are ranked as by training again without
// each of them, which is what their data are worth.
func TestRetraining(t *testing.T) {
	stage.OnlyLong(t)
	data, err := mnist.Embedded()
	require.NoError(t, err)
	n := *retrained
	seed := *retrainSeed
	p := shortSteps(t, n)
	members := graded(n, 0.6)
	r, full := estimate(t, start(t, p, data, members, seed), data.Test, contribution.Options{Seed: 1})
	var truth, shapley, leaveOneOut []float64
	for i, m := range r.Members {
		less := start(t, shortSteps(t, n-1), data, members, seed, i).end(t, data.Test, nil)
		truth = append(truth, less-full)
		shapley, leaveOneOut = append(shapley, m.Shapley.Sum), append(leaveOneOut, m.LeaveOneOut.Sum)
		t.Logf("member %2d, %2.0f %% wrong: retraining %+.5f, Shapley %v, leave-one-out %v, weight %.4f", i,
			100*members[i].wrong, truth[i], m.Shapley, m.LeaveOneOut, m.Weight)
	}
	rank, other := spearman(truth, shapley), spearman(truth, leaveOneOut)
	t.Logf("N = %d: Spearman correlation with retraining: Shapley %.3f, leave-one-out %.3f; loss %.4f, rest %.4f of %.4f",
		n, rank, other, full, r.Rest, r.Improvement)
	require.GreaterOrEqual(t, rank, 0.9)
	require.GreaterOrEqual(t, other, 0.9)
}

// spearman returns the correlation of ranks. There are no ties.
func spearman(a, b []float64) float64 {
	ranks := func(v []float64) []int {
		sorted := slices.Sorted(slices.Values(v))
		out := make([]int, len(v))
		for i, x := range v {
			out[i] = slices.Index(sorted, x)
		}
		return out
	}
	x, y, n, squares := ranks(a), ranks(b), float64(len(a)), 0.0
	for i := range x {
		squares += math.Pow(float64(x[i]-y[i]), 2)
	}
	return 1 - 6*squares/(n*(n*n-1))
}
