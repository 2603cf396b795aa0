package experiment

import (
	"fmt"

	"github.com/spdl/spdl/testnet/experiment/figure"
	"github.com/spdl/spdl/testnet/experiment/train"
)

// convergence is the paper's figure of the test error by round and N.
var convergence = Experiment{
	Name:  "convergence",
	Title: "Convergence with network size",
	Paper: "The test error nearly converges after 20 rounds, but fluctuates a lot when N is as small as four. When " +
		"N=30, all schemes " +
		"almost achieve the same convergence; SPDL and DP sometimes have lower test error than PURE. N does not impact " +
		"the convergence rate.",
	cells: func(o Options) ([]Cell, error) {
		sizes := []int{4, 10, 20, 30}
		var cells []Cell
		for _, n := range sizes {
			for _, name := range train.Schemes() {
				s, err := o.paper(name, n)
				if err != nil {
					return nil, err
				}
				cells = append(cells, Cell{Panel: fmt.Sprintf("N=%d", n), Series: name, Learn: &s, Rerun: n == 4 &&
					(name == train.SPDLMulti || name == train.SPDLLiteral)})
			}
		}
		return cells, nil
	},
	draw: func(r Results) (figure.Figure, Table) {
		return figure.Figure{Title: "Convergence with network size", Panels: r.curves("test_error", "test error", 0.6)},
			r.table("test error after the last round", "test_error")
	},
}
