package krum

import (
	"math/big"
	"sort"
)

// reference is Krum written from its definition alone: sort, add up, take the least. It shares no code with the
// package: distances are rationals of unlimited size, and sums of roots are floats of 700 bits in which a difference
// below 2^-500 counts as a tie. (Sums of a few roots of 60-bit integers that differ at all differ by far more.)
func reference(sq [][]*big.Int, m int, o Options) (selected []int, neighbours [][]int) {
	n, q := len(sq), o.N-o.F-2
	scores := make([]*big.Float, n)
	for i := range n {
		type other struct {
			position int
			distance *big.Int
		}
		var others []other
		for j := range n {
			if j != i {
				d := sq[i][j]
				if d.Cmp(big.NewInt(o.Floor)) < 0 {
					d = big.NewInt(o.Floor)
				}
				others = append(others, other{j, d})
			}
		}
		sort.SliceStable(others, func(a, b int) bool { return others[a].distance.Cmp(others[b].distance) < 0 })
		scores[i] = new(big.Float).SetPrec(700)
		var near []int
		for _, x := range others[:q] {
			near = append(near, x.position)
			term := new(big.Float).SetPrec(700).SetInt(x.distance)
			if o.Unsquared {
				term.Sqrt(term)
			}
			scores[i].Add(scores[i], term)
		}
		neighbours = append(neighbours, near)
	}
	tie := new(big.Float).SetMantExp(big.NewFloat(1), -500)
	taken := make([]bool, n)
	for range m {
		best := -1
		for i := range n {
			if taken[i] {
				continue
			}
			if best < 0 || new(big.Float).Sub(scores[best], scores[i]).Cmp(tie) > 0 {
				best = i
			}
		}
		taken[best] = true
		selected = append(selected, best)
	}
	return selected, neighbours
}
