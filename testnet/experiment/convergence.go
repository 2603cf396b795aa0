package experiment

import (
	"fmt"

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
		var l list
		for _, n := range sizes {
			for _, name := range train.Schemes() {
				s, err := o.paper(name, n)
				l.add(Cell{Panel: fmt.Sprintf("N=%d", n), Series: name, Learn: &s, Rerun: n == 4 &&
					(name == train.SPDLMulti || name == train.SPDLLiteral)}, err)
			}
		}
		return l.cells, l.err
	},
	draw: errorCurves("Convergence with network size", 0.6),
}
