package experiment

import (
	"context"
	"fmt"
	"math"

	"github.com/spdl/spdl/testnet"
	"github.com/spdl/spdl/testnet/experiment/figure"
)

// Latency is a net of real nodes, in one process, over loopback.
type Latency struct {
	Nodes  int    `json:"nodes"`
	Rounds uint64 `json:"rounds"`
}

// latencyColumns are the paper's three stages as node 0 saw them, and their sum;
// NaN where it did not see the round whole.
var latencyColumns = []string{"round", "t_lgc_ms", "t_ge_ms", "t_bc_ms", "round_ms"}

// warmup is how many rounds are left out: connections are made meanwhile.
const warmup = 3

// run starts a net of the paper's preset and times its rounds.
func (l Latency) run(ctx context.Context, seed uint64) (rows [][]float64, err error) {
	m := testnet.Manifest{Validators: l.Nodes, Preset: "paper", Rounds: l.Rounds + warmup, Seed: seed}
	err = onNodes(ctx, m, func(ctx context.Context, n *testnet.Net) error {
		return testnet.Follow(ctx, n, nil, func(r testnet.Round) error {
			if r.Round >= warmup {
				lgc, ge, bc := r.LGC, r.GE, r.BC
				if lgc == 0 || bc == 0 {
					lgc, ge, bc = math.NaN(), math.NaN(), math.NaN()
				}
				rows = append(rows, []float64{float64(r.Round), lgc, ge, bc, lgc + ge + bc})
			}
			return nil
		})
	})
	return rows, err
}

// latency is the paper's figure of a round's three stages.
var latency = Experiment{
	Name:  "latency",
	Title: "Latency of a round's three stages on real nodes in one process (medians of node 0's rounds)",
	Reads: "medians over all rounds of all seeds; the last column is the median of the sums",
	Paper: "T_LGC, T_GE and T_BC are in the same order of magnitude. T_GE grows with N because more nodes contend for computational " +
		"resources. T_LGC (< 0.1 s) is lower than T_BC, which is about 1 s.",
	cells: func(o Options) ([]Cell, error) {
		sizes, rounds := []int{4, 10, 20, 30}, uint64(30)
		if o.Quick {
			sizes, rounds = []int{4, 10}, 6
		}
		var cells []Cell
		for _, n := range sizes {
			cells = append(cells, Cell{Panel: fmt.Sprintf("N=%d", n), Series: "real nodes", X: float64(n), Latency: &Latency{n, rounds}})
		}
		return cells, nil
	},
	draw: func(r Results) (figure.Figure, Table) {
		bars := &figure.Bars{Stacks: []string{"T_LGC", "T_GE", "T_BC"}, Values: make([][]float64, 3)}
		t := Table{Head: []string{"N", "T_LGC ms", "T_GE ms", "T_BC ms", "round ms"}}
		for _, panel := range r.panels() {
			bars.Categories = append(bars.Categories, panel)
			line := []string{panel}
			for s, column := range latencyColumns[1:] {
				m := r.of(panel, "real nodes").median(column)
				if s < len(bars.Values) {
					bars.Values[s] = append(bars.Values[s], m)
				}
				line = append(line, fmt.Sprintf("%.1f", m))
			}
			t.Rows = append(t.Rows, line)
		}
		return figure.Figure{Title: "Latency", Panels: []figure.Panel{{Title: "a round on one machine", Y: "ms", Bars: bars}}}, t
	},
}
