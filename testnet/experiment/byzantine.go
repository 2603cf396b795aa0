package experiment

import (
	"fmt"
	"strings"

	"github.com/spdl/spdl/testnet/attack"
	"github.com/spdl/spdl/testnet/experiment/train"
)

// onChain marks the schemes that have no chain in the paper.
const onChain = " on the chain"

// byzantine is the paper's figure of the Byzantine ratio. In the paper, PURE and DP have no chain, so attackers can
// send 1e7 into their unbounded float32 sums. On this chain the same attack cannot hurt softmax regression, whatever
// the rule: the grid bounds the value, and it moves the weights of all classes alike, so it changes no prediction. The
// panels below show the strongest attack on the mean that the grid admits, and nodes that send nothing, which the paper
// counts as zero vectors.
var byzantine = Experiment{
	Name: "byzantine",
	Title: "Byzantine ratio, N=20: the prototype's attack (1e7 in every coordinate), saturation against the mean, " +
		"and silence",
	Paper: "Without Byzantine nodes the three schemes achieve similar convergence. DP and PURE have high test error " +
		"when BR>0 and fail to " +
		"converge even in the presence of 10 %. SPDL still guarantees the same convergence.",
	cells: func(o Options) ([]Cell, error) {
		const n = 20
		var l list
		for _, name := range []string{attack.Prototype, "saturation", "silent"} {
			series := []string{train.SPDL, train.SPDLMulti, train.SPDLPrototype, train.SPDLLiteral, train.Pure + onChain,
				train.DP + onChain}
			if name == attack.Prototype {
				series = append([]string{train.Pure, train.DP}, series...)
			}
			for _, percent := range []int{0, 10, 20, 30} {
				for _, who := range series {
					s, err := train.Attacked(strings.TrimSuffix(who, onChain), n, n*percent/100, name)
					s = o.short(s)
					s.Float32 = who == train.Pure || who == train.DP
					l.add(Cell{
						Panel: fmt.Sprintf("%s, BR=%d %%", name, percent), Series: who, Learn: &s,
						Rerun: name == "saturation" && percent == 30 && who == train.SPDLMulti,
					}, err)
				}
			}
		}
		return l.cells, l.err
	},
	draw: errorCurves("Byzantine ratio", 1),
}
