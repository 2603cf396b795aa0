package experiment

import (
	"fmt"
	"time"

	"github.com/spdl/spdl/testnet/experiment/figure"
	"github.com/spdl/spdl/testnet/experiment/train"
)

// slow is the paper's claim about large tasks: it compares the time of consensus with long training steps.
var slow = Experiment{
	Name:  "slow",
	Title: "Slow training steps: T_BC beside the round on four real nodes in one process (medians of node 0's rounds)",
	Reads: "medians over all rounds; steps above 0 s are run with seed 1 alone",
	Paper: "T_BC, which is about 1 s, is negligible for large tasks, where a round takes about 10 minutes.",
	cells: func(o Options) ([]Cell, error) {
		var cells []Cell
		for _, x := range []struct {
			step          time.Duration
			rounds, quick uint64
		}{{0, 30, 6}, {time.Second, 12, 4}, {10 * time.Second, 5, 0}} {
			rounds := x.rounds
			if o.Quick {
				rounds = x.quick
			}
			if rounds > 0 {
				cells = append(cells, Cell{
					Panel: fmt.Sprintf("%.0f s", x.step.Seconds()), Series: "real nodes", X: x.step.Seconds(),
					Latency: &Latency{Nodes: slowNodes, Rounds: rounds, Step: x.step},
				})
			}
		}
		return cells, nil
	},
	draw: func(r Results) (figure.Figure, Table) {
		stage := &figure.Bars{Stacks: []string{"T_BC"}, Values: make([][]float64, 1)}
		share := &figure.Bars{Stacks: []string{"T_BC, % of a round"}, Values: make([][]float64, 1)}
		t := Table{Head: []string{"step", "T_LGC ms", "T_GE ms", "T_BC ms", "round ms", "T_BC, % of a round"}}
		for _, panel := range r.panels() {
			line := []string{panel}
			x := r.of(panel, "real nodes")
			for _, column := range train.TimeColumns[1:] {
				line = append(line, fmt.Sprintf("%.1f", x.median(column)))
			}
			bc, part := x.median("t_bc_ms"), 100*x.median("t_bc_ms")/x.median("round_ms")
			t.Rows = append(t.Rows, append(line, fmt.Sprintf("%.2f", part)))
			stage.Categories, share.Categories = append(stage.Categories, panel), append(share.Categories, panel)
			stage.Values[0], share.Values[0] = append(stage.Values[0], bc), append(share.Values[0], part)
		}
		return figure.Figure{Title: "Slow training steps", Panels: []figure.Panel{
			{Title: "consensus", X: "a training step is longer by", Y: "ms", Bars: stage},
			{Title: "its share", X: "a training step is longer by", Y: "% of a round", Bars: share},
		}}, t
	},
}

// slowNodes is the size of the net with slow steps.
const slowNodes = 4
