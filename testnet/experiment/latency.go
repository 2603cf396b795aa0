package experiment

import (
	"fmt"
	"time"

	"github.com/spdl/spdl/testnet/experiment/figure"
	"github.com/spdl/spdl/testnet/experiment/train"
)

// Latency is a net of real nodes, in one process, over loopback.
type Latency struct {
	Nodes  int    `json:"nodes"`
	Rounds uint64 `json:"rounds"`
	// Step is added to every training step.
	Step time.Duration `json:"step,omitempty"`
}

// latency is the paper's figure of a round's three stages.
var latency = Experiment{
	Name:  "latency",
	Title: "Latency of a round's three stages on real nodes in one process (medians of node 0's rounds)",
	Reads: "medians over all rounds of all seeds; the last column is the median of the sums",
	Paper: "T_LGC, T_GE and T_BC are in the same order of magnitude. T_GE grows with N because more nodes contend for " +
		"computational " +
		"resources. T_LGC (< 0.1 s) is lower than T_BC, which is about 1 s.",
	cells: func(o Options) ([]Cell, error) {
		sizes, rounds := []int{4, 10, 20, 30}, uint64(30)
		if o.Quick {
			sizes, rounds = []int{4, 10}, 6
		}
		var cells []Cell
		for _, n := range sizes {
			cells = append(cells, Cell{Panel: fmt.Sprintf("N=%d", n), Series: "real nodes", X: float64(n),
				Latency: &Latency{Nodes: n, Rounds: rounds}})
		}
		return cells, nil
	},
	draw: func(r Results) (figure.Figure, Table) {
		bars := &figure.Bars{Stacks: []string{"T_LGC", "T_GE", "T_BC"}, Values: make([][]float64, 3)}
		t := Table{Head: []string{"N", "T_LGC ms", "T_GE ms", "T_BC ms", "round ms"}}
		for _, panel := range r.panels() {
			bars.Categories = append(bars.Categories, panel)
			line := []string{panel}
			for s, column := range train.TimeColumns[1:] {
				m := r.of(panel, "real nodes").median(column)
				if s < len(bars.Values) {
					bars.Values[s] = append(bars.Values[s], m)
				}
				line = append(line, fmt.Sprintf("%.1f", m))
			}
			t.Rows = append(t.Rows, line)
		}
		return figure.Figure{Title: "Latency", Panels: []figure.Panel{{Title: "a round on one machine", Y: "ms",
			Bars: bars}}}, t
	},
}
