package experiment

import (
	"fmt"

	"github.com/spdl/spdl/testnet/experiment/figure"
)

// byzantine is the paper's figure of the Byzantine ratio, with its prototype's
// attack, and below it with the same strength spent against the mean. The first
// cannot hurt softmax regression on a grid: it moves the weights of all classes
// alike, and so no prediction. Off the grid 1e7 leaves float32 no digits.
var byzantine = Experiment{
	Name:  "byzantine",
	Title: "Byzantine ratio, N=20: the prototype's attack (1e7 in every coordinate), and saturation against the mean",
	Paper: "Without Byzantine nodes the three schemes achieve similar convergence. DP and PURE have high test error when BR>0 and fail to " +
		"converge even in the presence of 10 %. SPDL still guarantees the same convergence.",
	cells: func(o Options) ([]Cell, error) {
		const n = 20
		var cells []Cell
		for _, attack := range []string{"constant", "saturation"} {
			for _, percent := range []int{0, 10, 20, 30} {
				for _, scheme := range schemes {
					s, err := o.paper(scheme, n)
					if err != nil {
						return nil, err
					}
					if s.Byzantine = n * percent / 100; s.Byzantine > 0 {
						s.Attack = attack
					}
					cells = append(cells, Cell{Panel: fmt.Sprintf("%s, BR=%d %%", attack, percent), Series: scheme, Learn: &s})
				}
			}
		}
		return cells, nil
	},
	draw: func(r Results) (figure.Figure, Table) {
		return figure.Figure{Title: "Byzantine ratio", Panels: r.curves("test_error", "test error", 1)},
			r.table("test error after the last round", "test_error")
	},
}
