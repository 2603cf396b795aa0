package rules

import (
	"math/big"
	"sort"
	"strings"
)

// The references are written from the definitions alone, in rationals, without sharing code with the package: mixtures
// are formed and divided, distances computed from them, columns sorted. Sums of roots are floats of 700 bits in which a
// difference below 2^-400 is a tie.

// references computes Delta of points, one entry for each rule.
var references = map[string]func(in Input, points [][]*big.Rat, floor int64) []*big.Rat{
	"mean": func(_ Input, points [][]*big.Rat, _ int64) []*big.Rat { return refMean(points) },
	"krum": func(in Input, points [][]*big.Rat, floor int64) []*big.Rat {
		return points[refKrumOrder(in, points, floor)[0]]
	},
	"multi-krum": func(in Input, points [][]*big.Rat, floor int64) []*big.Rat {
		var best [][]*big.Rat
		for _, i := range refKrumOrder(in, points, floor) {
			if len(best) < in.N-in.F {
				best = append(best, points[i])
			}
		}
		return refMean(best)
	},
	"median": func(_ Input, points [][]*big.Rat, _ int64) []*big.Rat {
		return refColumns(points, func(column []*big.Rat) *big.Rat {
			n := len(column)
			return refAverage(column[(n-1)/2 : n/2+1])
		})
	},
	"trimmed-mean": func(in Input, points [][]*big.Rat, _ int64) []*big.Rat {
		return refColumns(points, func(column []*big.Rat) *big.Rat {
			return refAverage(column[in.F : len(column)-in.F])
		})
	},
}

// reference computes Delta by the rule of that name.
func reference(name string, in Input) []*big.Rat {
	points := make([][]*big.Rat, len(in.Vectors))
	for i, v := range in.Vectors {
		for j := range v.Len() {
			points[i] = append(points[i], big.NewRat(v.At(j), 1))
		}
	}
	if inner, mixed := strings.CutPrefix(name, "nnm+"); mixed {
		return references[inner](in, refMix(in, points), 0)
	}
	return references[name](in, points, in.Floor)
}

// reference for mixing: the mean of the included-f nearest, itself always among them.
func refMix(in Input, points [][]*big.Rat) [][]*big.Rat {
	mixed := make([][]*big.Rat, len(points))
	for i := range points {
		var near [][]*big.Rat
		for _, j := range refNearest(points, i, in.Floor)[:len(points)-in.F-1] {
			near = append(near, points[j])
		}
		mixed[i] = refMean(append(near, points[i]))
	}
	return mixed
}

// refNearest returns the others by distance from point i, then by position.
func refNearest(points [][]*big.Rat, i int, floor int64) []int {
	var others []int
	for j := range points {
		if j != i {
			others = append(others, j)
		}
	}
	sort.SliceStable(others, func(a, b int) bool {
		return refDistance(points, i, others[a], floor).Cmp(refDistance(points, i, others[b], floor)) < 0
	})
	return others
}

func refDistance(points [][]*big.Rat, i, j int, floor int64) *big.Rat {
	sum := new(big.Rat)
	for k := range points[i] {
		gap := new(big.Rat).Sub(points[i][k], points[j][k])
		sum.Add(sum, gap.Mul(gap, gap))
	}
	if least := big.NewRat(floor, 1); sum.Cmp(least) < 0 {
		return least
	}
	return sum
}

// refKrumOrder returns the positions by score, then by position.
func refKrumOrder(in Input, points [][]*big.Rat, floor int64) []int {
	scores := make([]*big.Float, len(points))
	for i := range points {
		scores[i] = new(big.Float).SetPrec(700)
		for _, j := range refNearest(points, i, floor)[:in.N-in.F-2] {
			term := new(big.Float).SetPrec(700).SetRat(refDistance(points, i, j, floor))
			if in.Unsquared {
				term.Sqrt(term)
			}
			scores[i].Add(scores[i], term)
		}
	}
	tie := new(big.Float).SetMantExp(big.NewFloat(1), -400)
	var order []int
	for range points {
		best := -1
		for i, s := range scores {
			if s != nil && (best < 0 || new(big.Float).Sub(scores[best], s).Cmp(tie) > 0) {
				best = i
			}
		}
		order = append(order, best)
		scores[best] = nil
	}
	return order
}

func refMean(points [][]*big.Rat) []*big.Rat {
	return refColumns(points, refAverage)
}

// refColumns applies f to each column, sorted.
func refColumns(points [][]*big.Rat, f func(column []*big.Rat) *big.Rat) []*big.Rat {
	out := make([]*big.Rat, len(points[0]))
	for j := range out {
		var column []*big.Rat
		for _, p := range points {
			column = append(column, p[j])
		}
		sort.Slice(column, func(a, b int) bool { return column[a].Cmp(column[b]) < 0 })
		out[j] = f(column)
	}
	return out
}

func refAverage(xs []*big.Rat) *big.Rat {
	sum := new(big.Rat)
	for _, x := range xs {
		sum.Add(sum, x)
	}
	return sum.Quo(sum, big.NewRat(int64(len(xs)), 1))
}
