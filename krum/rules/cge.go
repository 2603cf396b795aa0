package rules

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"
	"sync"

	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/krum"
)

// comparativeRule drops the f gradients of largest norm and averages the others: comparative
// gradient elimination. Of equal norms the higher position is dropped.
//
// Resilience: N >= 3f+1 is necessary, and not enough. The theorem is about gradient descent rather than about one
// aggregate: with gradients that are mu-Lipschitz and an average cost that is gamma-strongly convex it needs
// 2f-redundant data and f/N < 1/(1 + 2 mu/gamma), which is at most 1/3 because mu >= gamma. It never detects a wrong
// direction: f gradients that are turned around keep their norms, and all enter. It needs f+1 included gradients, and
// drops f of those that are included however many are silent.
//
// Score: squared norms, in squared grid steps.
//
// Cost: O(n d).
//
// Source: Gupta, Liu, Vaidya, "Byzantine Fault-Tolerant Distributed Machine Learning Using Stochastic Gradient Descent
// (SGD) and Norm-Based Comparative Gradient Elimination (CGE)", 2020 (arXiv:2008.04699), which sums the gradients that
// are left; here the sum is divided by their number, as every other rule does.
type comparativeRule struct{}

func (comparativeRule) Name() string { return "cge" }

func (comparativeRule) Condition(n, f int) error {
	if f < 0 || n < 3*f+1 {
		return fmt.Errorf("rules: %w: cge with N = %d, f = %d, want N >= 3f+1 = %d", ErrCondition, n, f, 3*f+1)
	}
	return nil
}

// Denominator returns the number of gradients that are left, included - f.
func (comparativeRule) Denominator(_, f, included int) int64 { return int64(max(0, included-f)) }

func (comparativeRule) Cost() string { return "O(n d)" }

func (comparativeRule) Source() string { return "Gupta et al., 2020, arXiv:2008.04699" }

func (comparativeRule) feasible(_, f, included int) error {
	if included <= f {
		return fmt.Errorf("rules: %w: cge of %d included with f = %d, want at least f+1 = %d", ErrTooFew, included, f, f+1)
	}
	return nil
}

func (comparativeRule) aggregate(in Input, p points) (Output, error) {
	k := p.len()
	norms := p.squaredNorms()
	order := ascending(k)
	slices.SortFunc(order, func(i, j int) int { return cmp.Or(norms[i].Cmp(norms[j]), cmp.Compare(i, j)) })
	selected, dropped := order[:k-in.F:k-in.F], order[k-in.F:]
	out := Output{Delta: p.mean(selected), Selected: p.entered(selected), Score: make([]int64, k), Margin: -1}
	for i, norm := range norms {
		out.Score[i] = krum.Saturate(norm)
	}
	if len(dropped) > 0 {
		out.Margin = out.Score[dropped[0]] - out.Score[selected[len(selected)-1]]
	}
	return out, nil
}

// squaredNorms returns the squared norms of the points, in squared grid steps times size^2. Of a sum of s vectors the
// squared norm is s times the sum of the vectors' squared norms less the sum of the squared distances of each two.
func (p points) squaredNorms() []*big.Int {
	single := squaredNorms(p.vectors)
	norms := make([]*big.Int, p.len())
	if p.members != nil {
		p.pairs = p.pairwise()
	}
	for i := range norms {
		var sum int64 // fewer than 2^12 terms below 2^49
		for _, k := range p.membersOf(i) {
			sum += single[k]
		}
		norms[i] = big.NewInt(sum)
		if p.members != nil {
			norms[i].Mul(norms[i], big.NewInt(int64(p.size())))
			norms[i].Sub(norms[i], p.within(i))
		}
	}
	return norms
}

// squaredNorms returns |v|^2 for each vector, below 2^49.
func squaredNorms(vs []gradients.Vector) []int64 {
	_, d := gradients.Shape(vs)
	norms := make([]int64, len(vs))
	var mu sync.Mutex
	gradients.InBlocks(d, len(vs), func(lo, hi int) {
		part := make([]int64, len(vs))
		for i, v := range vs {
			if v.Width() == gradients.Int8 {
				part[i] = squares(v.Int8s()[lo:hi])
			} else {
				part[i] = squares(v.Int16s()[lo:hi])
			}
		}
		mu.Lock()
		defer mu.Unlock()
		for i, s := range part { // integers: the order of blocks does not matter
			norms[i] += s
		}
	})
	return norms
}

func squares[E int8 | int16](q []E) (sum int64) {
	for _, x := range q {
		sum += int64(x) * int64(x)
	}
	return sum
}
