package train_test

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/model/adapt"
	"github.com/spdl/spdl/app/model/evaluate"
	"github.com/spdl/spdl/app/model/inputs"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/app/worker"
	"github.com/spdl/spdl/internal/stage"
	"github.com/spdl/spdl/mnist"
	"github.com/spdl/spdl/testnet/experiment/train"
	"github.com/spdl/spdl/testnet/sim"
)

// hospitals are four sites whose patients differ: their columns lie elsewhere and death is more frequent,
// but the columns say the same of a patient everywhere, but for a term that is not linear.
type hospitals struct {
	params params.Params
	whole  mnist.Set
	parts  [][]int // to train on
	tests  []mnist.Set
}

const (
	hospitalColumns = 14
	hospitalRows    = 3000 // to train on; a third as many to test on
)

// hospital offsets of the log odds, and shifts of the first four columns.
var offsets, shifts = []float64{-3.6, -3.6, -2.7, -2}, []float64{-0.1, -0.1, 0.05, 0.15}

func fourHospitals(t *testing.T, seed uint64) hospitals {
	t.Helper()
	table := &params.Table{Label: "outcome", Classes: []string{"alive", "dead"}, Rate: 0.1}
	for j := range hospitalColumns {
		table.Columns = append(table.Columns, params.Column{Name: fmt.Sprint("c", j), Low: -1, High: 1})
	}
	h := hospitals{whole: mnist.Set{Rows: 1, Cols: hospitalColumns}}
	var err error
	h.params, err = preset.Make("default", len(offsets), preset.Own{Epsilon: 2, Examples: hospitalRows,
		Data: &preset.Data{Classes: 2, Table: table}})
	require.NoError(t, err)
	rng := rand.New(rand.NewPCG(seed, 4))
	for site, offset := range offsets {
		test := mnist.Set{Rows: 1, Cols: hospitalColumns}
		var part []int
		for i := range hospitalRows + hospitalRows/3 {
			score, row := offset, make([]uint8, hospitalColumns)
			for j := range row {
				x := 0.3 * rng.NormFloat64()
				if j < 4 {
					x += shifts[site]
				}
				row[j] = uint8(min(255, max(0, math.Round(127.5+127.5*x))))
				score += 1.5*x*float64(j%3-1) + 0.4*x*x
			}
			label := uint8(0)
			if rng.Float64() < 1/(1+math.Exp(-score)) {
				label = 1
			}
			to := &h.whole
			if i >= hospitalRows {
				to = &test
			} else {
				part = append(part, h.whole.Len())
			}
			to.Images, to.Labels = append(to.Images, row...), append(to.Labels, label)
		}
		h.parts, h.tests = append(h.parts, part), append(h.tests, test)
	}
	return h
}

// outcome is what a training did: the mean weights of the participants, how often each opposed Delta, and
// what the shared model is worth at each site.
type outcome struct {
	weights []float64
	opposed []int
	// the Brier score at each site of the models that package adapt makes of the chain's, by the way, and the
	// accuracy beyond guessing the frequent class
	brier, beyond map[string][]float64
}

// train trains with an attacker at site 0, or without one.
func (h hospitals) train(t *testing.T, seed uint64, name string) (out outcome) {
	t.Helper()
	spec := train.Spec{Params: h.params, Nodes: len(offsets), Seed: seed, Attack: name}
	if name != "" {
		spec.Byzantine = 1
	}
	p, err := train.WithParts(spec, h.whole, h.parts)
	require.NoError(t, err)
	chain, err := sim.NewSingle(p.Config())
	require.NoError(t, err)
	out.weights, out.opposed = make([]float64, spec.Nodes), make([]int, spec.Nodes)
	out.brier, out.beyond = map[string][]float64{}, map[string][]float64{}
	for range h.params.Training.Rounds {
		closed, err := chain.Round()
		require.NoError(t, err)
		for _, c := range closed.Record.Contributions {
			weight := max(0, 1-float64(c.Score)*float64(len(closed.Record.Contributions))/(1<<20))
			out.weights[c.Participant] += weight / float64(h.params.Training.Rounds)
			if c.Opposed {
				out.opposed[c.Participant]++
			}
		}
	}
	for site, test := range h.tests {
		e, err := evaluate.New(test, h.params.Model)
		require.NoError(t, err)
		rows, err := worker.Shard(h.whole, h.parts[site], h.params.Model, inputs.Keep{})
		require.NoError(t, err)
		ways, err := adapt.Fit(rows, chain.State().Model)
		require.NoError(t, err)
		dead := 0.0
		for _, label := range test.Labels {
			dead += float64(label) / float64(test.Len())
		}
		for _, way := range ways {
			measured, err := e.Evaluate(way.Parameters)
			require.NoError(t, err)
			q := measured.Quality
			out.brier[way.Name] = append(out.brier[way.Name], q.Brier)
			out.beyond[way.Name] = append(out.beyond[way.Name], q.Accuracy-max(dead, 1-dead))
		}
	}
	return out
}

// TestFourHospitals: nobody attacks, and no hospital loses its weight or its reputation for its patients.
// If one attacks, it moves the common intercept among those of the others, and what the columns say
// stays: with an intercept fitted at home the model is worth as much as without the attack.
func TestFourHospitals(t *testing.T) {
	goals := []string{"ascent", "flood", "drift", "threshold"}[:stage.Pick(1, 2, 4)]
	for seed := uint64(1); seed <= uint64(stage.Pick(1, 1, 3)); seed++ {
		h := fourHospitals(t, seed)
		clean := h.train(t, seed, "")
		t.Logf("seed %d, nobody attacks: %+v", seed, clean)
		require.Greater(t, slices.Min(clean.weights), 0.9)
		require.LessOrEqual(t, slices.Max(clean.opposed), 3)
		for _, goal := range goals {
			attacked := h.train(t, seed, "hidden-"+goal+"+own-noise")
			t.Logf("seed %d, %s: %+v", seed, goal, attacked)
			for site := 1; site < len(offsets); site++ {
				require.Less(t, attacked.brier["intercept"][site], clean.brier["intercept"][site]+0.005, "%s, %d", goal, site)
				require.Greater(t, attacked.beyond["intercept"][site], -0.01, "%s, %d", goal, site)
			}
		}
	}
}
