package experiment

import (
	"fmt"

	"github.com/spdl/spdl/testnet/experiment/train"
)

// batch is the paper's figure of the batch size.
var batch = Experiment{
	Name:  "batch",
	Title: "Batch size 10 and 100",
	Paper: "When BS=10, the test error in all deployments fluctuates a lot, with PURE outperforming the others because " +
		"adding noise can " +
		"perturb the convergence. BS=100 ensures a stable convergence and makes SPDL perform as well as PURE.",
	cells: func(o Options) ([]Cell, error) {
		var l list
		for _, n := range []int{10, 20} {
			for _, size := range []uint32{10, 100} {
				for _, name := range train.Schemes() {
					s, err := o.paper(name, n)
					s.Params.Privacy.Batch = size
					l.add(Cell{Panel: fmt.Sprintf("N=%d, BS=%d", n, size), Series: name, Learn: &s, Rerun: n == 10 &&
						size == 10 && name == train.SPDL}, err)
				}
			}
		}
		return l.cells, l.err
	},
	draw: errorCurves("Batch size", 0.6),
}
