package experiment

import (
	"fmt"
	"math"

	"github.com/spdl/spdl/testnet/experiment/figure"
	"github.com/spdl/spdl/testnet/experiment/train"
)

// tolerance is accuracy against delta, the paper's tolerance of the leader's Delta: what every
// leader may take, if each uses all of it in every coordinate against what the rule gives. The
// last delta of a panel is the largest that the chain allows there.
var tolerance = Experiment{
	Name:  "tolerance",
	Title: "Accuracy against the tolerance delta: the default preset; honest leaders, and leaders that use all of delta against the aggregate",
	Paper: "A follower accepts the leader's aggregate where it is within (Delta - delta, Delta + delta) of its own. The paper gives delta no value.",
	X:     "log2 delta, -1 for delta 0",
	axis:  deltas,
	cells: func(o Options) ([]Cell, error) {
		var cells []Cell
		for _, net := range []struct {
			nodes  int
			deltas []int64
		}{{4, []int64{0, 1, 2, 4, 8, 16}}, {gridNodes, []int64{0, 1, 2, 4, 6}}} {
			last := net.deltas[len(net.deltas)-1]
			for _, shift := range []bool{false, true} {
				for _, delta := range net.deltas {
					if !shift && delta != 0 && delta != last || o.Quick && (net.nodes > quickNodes || delta == 1 || delta == 2) {
						continue // to an honest leader delta is nothing
					}
					s, err := train.Preset("default", net.nodes)
					if err != nil {
						return nil, err
					}
					if o.Quick {
						s.Params.Training.Rounds = quickRounds
					}
					s.Params.Rule.Tolerance, s.Shift = delta, shift && delta > 0
					series, x := "honest leaders", -1.0
					if shift {
						series = "leaders against Delta"
					}
					if delta > 0 {
						x = math.Log2(float64(delta))
					}
					cells = append(cells, Cell{
						Panel: fmt.Sprintf("N=%d", net.nodes), Series: series, X: x, Learn: &s, Rerun: shift && net.nodes == 4 && delta == last,
					})
				}
			}
		}
		return cells, nil
	},
	draw: func(r Results) (figure.Figure, Table) { return r.sweep(deltas) },
}

var deltas = axis{"delta, grid steps", func(x float64) string {
	if x < 0 {
		return "0"
	}
	return fmt.Sprintf("%g", math.Exp2(x))
}}
