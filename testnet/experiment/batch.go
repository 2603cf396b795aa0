package experiment

import (
	"fmt"

	"github.com/spdl/spdl/testnet/experiment/figure"
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
		var cells []Cell
		for _, n := range []int{10, 20} {
			for _, size := range []uint32{10, 100} {
				for _, name := range train.Schemes() {
					s, err := o.paper(name, n)
					if err != nil {
						return nil, err
					}
					s.Params.Privacy.Batch = size
					cells = append(cells, Cell{Panel: fmt.Sprintf("N=%d, BS=%d", n, size), Series: name, Learn: &s, Rerun: n == 10 &&
						size == 10 && name == train.SPDL})
				}
			}
		}
		return cells, nil
	},
	draw: func(r Results) (figure.Figure, Table) {
		return figure.Figure{Title: "Batch size", Panels: r.curves("test_error", "test error", 0.6)},
			r.table("test error after the last round", "test_error")
	},
}
