package krum

import (
	"math/big"
	"sort"
)

// reference is Krum written from its definition alone: sort, add up, take the least. It shares no
// code with the package: distances are integers of unlimited size, and a root is rounded down to 24
// fractional bits by bisection.
func reference(sq [][]*big.Int, m int, o Options) (selected []int, neighbours [][]int) {
	n, q := len(sq), o.N-o.F-2
	scores := make([]*big.Int, n)
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
		scores[i] = new(big.Int)
		var near []int
		for _, x := range others[:q] {
			near = append(near, x.position)
			term := x.distance
			if o.Unsquared {
				term = bisectedRoot(term)
			}
			scores[i].Add(scores[i], term)
		}
		neighbours = append(neighbours, near)
	}
	taken := make([]bool, n)
	for range m {
		best := -1
		for i := range n {
			if taken[i] {
				continue
			}
			if best < 0 || scores[best].Cmp(scores[i]) > 0 {
				best = i
			}
		}
		taken[best] = true
		selected = append(selected, best)
	}
	return selected, neighbours
}

// bisectedRoot returns the largest r with (r/2^24)^2 <= x.
func bisectedRoot(x *big.Int) *big.Int {
	square := new(big.Int).Lsh(x, 48)
	one := big.NewInt(1)
	low, high := new(big.Int), new(big.Int).Add(square, one) // low^2 <= square < high^2
	for {
		middle := new(big.Int).Add(low, high)
		middle.Rsh(middle, 1)
		if middle.Cmp(low) == 0 {
			return low
		}
		if new(big.Int).Mul(middle, middle).Cmp(square) <= 0 {
			low = middle
		} else {
			high = middle
		}
	}
}
