package experiment

import (
	"fmt"
	"math"

	"github.com/spdl/spdl/testnet/experiment/figure"
)

// tolerance is accuracy against delta, the paper's tolerance of the leader's Delta. Every leader
// uses all of delta in every coordinate, against the rule's output. The last delta of a panel is
// the largest that the chain allows in that setting.
var tolerance = Experiment{
	Name: "tolerance",
	Title: "Accuracy against the tolerance delta: the default preset; honest leaders, and leaders that use all of " +
		"delta against the aggregate",
	Paper: "A follower accepts the leader's aggregate where it is within (Delta - delta, Delta + delta) of its own. " +
		"The paper gives delta no value.",
	X:    "log2 delta, -1 for delta 0",
	axis: deltas,
	cells: func(o Options) ([]Cell, error) {
		var l list
		for _, net := range []struct {
			nodes int
			all   []int64
		}{{4, []int64{0, 1, 2, 4, 8, 13}}, {gridNodes, []int64{0, 1, 2, 4, 6}}} {
			all := net.all
			switch {
			case o.Quick && net.nodes > quickNodes:
				continue
			case o.Quick:
				all = []int64{0, 4, 13}
			}
			last := all[len(all)-1]
			for _, delta := range all {
				c, err := o.tolerance(net.nodes, delta, true)
				c.Rerun = net.nodes == 4 && delta == last
				l.add(c, err)
			}
			for _, delta := range []int64{0, last} { // an honest leader does not use delta
				c, err := o.tolerance(net.nodes, delta, false)
				l.add(c, err)
			}
		}
		return l.cells, l.err
	},
	draw: func(r Results) (figure.Figure, Table) { return r.sweep(deltas) },
}

// tolerance returns a training with a tolerance of delta. If used is set, the leaders use it;
// otherwise they are honest.
func (o Options) tolerance(nodes int, delta int64, used bool) (Cell, error) {
	s, err := o.preset("default", nodes)
	s.Params.Rule.Tolerance, s.Shift = delta, used && delta > 0
	c := Cell{Panel: fmt.Sprintf("N=%d", nodes), Series: "honest leaders", X: -1, Learn: &s}
	if used {
		c.Series = "leaders against Delta"
	}
	if delta > 0 {
		c.X = math.Log2(float64(delta))
	}
	return c, err
}

var deltas = axis{"delta, grid steps", func(x float64) string {
	if x < 0 {
		return "0"
	}
	return fmt.Sprintf("%g", math.Exp2(x))
}}
