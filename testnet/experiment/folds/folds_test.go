package folds

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/internal/stage"
	"github.com/spdl/spdl/mnist"
)

const columns = 8

// made returns a study of sites of some rows, whose label follows the columns as strongly as slope says. Rows are in
// pairs of a group.
func made(t *testing.T, seed uint64, slope float64, rows ...int) Study {
	t.Helper()
	table := &params.Table{Label: "y", Classes: []string{"no", "yes"}, Rate: 0.4, Group: "patient"}
	for _, name := range "abcdefgh" {
		table.Columns = append(table.Columns, params.Column{Name: string(name), Low: -1, High: 1})
	}
	rng := rand.New(rand.NewPCG(seed, 9))
	s := Study{Folds: 5, Repeats: 2, Seed: seed}
	units := 0
	for _, n := range rows {
		set := mnist.Set{Rows: 1, Cols: columns}
		for i := range n {
			score := -0.4
			for j := range columns {
				x := 0.4 * rng.NormFloat64()
				set.Images = append(set.Images, uint8(min(255, max(0, math.Round(127.5+127.5*x)))))
				score += slope * x * float64(j%3-1)
			}
			label := uint8(0)
			if rng.Float64() < 1/(1+math.Exp(-score)) {
				label = 1
			}
			set.Labels, set.Groups = append(set.Labels, label), append(set.Groups, uint32(i/2))
		}
		s.Sites, s.Names = append(s.Sites, set), append(s.Names, fmt.Sprint(n))
		units += n / 2
	}
	p, err := preset.Make("default", len(rows), preset.Own{Epsilon: 2, Examples: units * 4 / 5 / len(rows),
		Data: &preset.Data{Classes: 2, Table: table}})
	require.NoError(t, err)
	p.Rule.Name = "mean"
	s.Params = []params.Params{p}
	return s
}

// TestDeal: the folds of a site part its rows, whole groups each, nearly as many groups of either kind in each, and
// another draw deals them otherwise.
func TestDeal(t *testing.T) {
	s := made(t, 1, 2, 90, 200)
	s.Folds = 7
	r, err := s.begin()
	require.NoError(t, err)
	fold := r.deal(rand.New(rand.NewPCG(1, 0)))
	require.Equal(t, fold, r.deal(rand.New(rand.NewPCG(1, 0))))
	require.NotEqual(t, fold, r.deal(rand.New(rand.NewPCG(1, 1))))
	for i, rows := range r.sites {
		counts := map[bool][]int{false: make([]int, s.Folds), true: make([]int, s.Folds)}
		require.Len(t, rows, s.Sites[i].Len())
		for _, row := range rows {
			if row%2 == 0 { // of a pair
				require.Equal(t, fold[row], fold[row+1])
				counts[r.whole.Labels[row]+r.whole.Labels[row+1] > 0][fold[row]]++
			}
		}
		for _, n := range counts {
			require.LessOrEqual(t, slices.Max(n)-slices.Min(n), 1)
		}
	}
}

// TestGain: a small site gains where the label follows the columns, and the large one needs nobody. An attacker takes
// the gain away. A site with too few rows is not measured, and the others are.
func TestGain(t *testing.T) {
	s := made(t, 12, 4, 60, 700, 700, 12)
	lines, err := s.Run(t.Context())
	require.NoError(t, err)
	require.Len(t, lines, 5)
	t.Logf("%+v", lines[0])
	require.Equal(t, Gains, lines[0].Verdict)
	require.Equal(t, Same, lines[2].Verdict)
	require.Less(t, lines[0].Common.Brier, lines[0].ByRate.Brier)
	require.Less(t, lines[0].Pooled.Brier, lines[0].Alone.Brier)
	require.Equal(t, s.Repeats, lines[0].Better)
	require.Contains(t, lines[3].Error, "groups or rows to train on, want at least 10")
	require.Equal(t, []any{All, 1460, lines[0].Events + lines[1].Events + lines[2].Events},
		[]any{lines[4].Site, lines[4].Rows, lines[4].Events})
	again, err := s.Run(t.Context())
	require.NoError(t, err)
	require.Equal(t, lines, again)

	s.Attacks = map[int]string{1: "sign-flip", 2: "sign-flip"}
	attacked, err := s.Run(t.Context())
	require.NoError(t, err)
	require.Greater(t, attacked[0].Common.Brier, lines[0].Common.Brier+0.05)
	require.Equal(t, lines[0].Alone, attacked[0].Alone)
	require.Equal(t, lines[0].Pooled, attacked[0].Pooled)
}

// TestNoGainOfNoise: where the label is a coin, no site gains, at nearly all seeds: 2.5 % of the lines may say so.
func TestNoGainOfNoise(t *testing.T) {
	stage.OnlyLong(t)
	seeds, said := stage.Pick(4, 8, 200), map[string]int{}
	for seed := range uint64(seeds) {
		s := made(t, 100+seed, 0, 50, 100, 200)
		lines, err := s.Run(t.Context())
		require.NoError(t, err)
		for _, l := range lines {
			said[l.Verdict]++
		}
	}
	t.Log(said)
	require.LessOrEqual(t, said[Gains], 1+seeds*4/40)
}
