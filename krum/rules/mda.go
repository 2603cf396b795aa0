package rules

import (
	"cmp"
	"fmt"
	"math/big"
	"slices"

	"github.com/spdl/spdl/krum"
)

// maxDiameterF is the largest f for which minimum diameter averaging is computed, see minimumDiameterRule.
const maxDiameterF = 33

// minimumDiameterRule averages the k-f gradients, of k included, whose largest distance of two is
// least; of several such sets the one whose positions come first in lexicographic order.
//
// Resilience: N >= 2f+1. It needs 2f+1 included gradients. Up to f of them may be Byzantine however
// many participants are silent, so that k-f are averaged, not N-f.
//
// Score: the largest squared distance to a gradient that was selected, in squared grid steps, under the floor.
//
// Cost: O(n^2 d) for the distances, and an exact search that takes exponential time in f at worst. For a diameter t,
// k-f gradients lie within t of each other exactly if f gradients can be taken away that touch every two that are
// farther apart than t: a vertex cover. The search for one (see cover) visits at most T(f) = 1 + T(f-1) + T(f-3) nodes,
// T = 1 for f <= 0, about 1.9 * 1.466^f; the candidates for t are bisected, at most 23 searches, and the lexicographic
// order costs at most T(0) + ... + T(f) more. T(33) is 790,065 and all that some 21 million nodes, seconds; with larger
// f the rule rejects (ErrInfeasible). That is every N up to 100 with N >= 3f+1. Trying out all subsets would be C(100,
// 33) = 3 * 10^26. In practice bounds cut off almost everything: the hardest graphs that were tried, disjoint cliques,
// took 4 ms a search with f = 33, and distances of points rarely give hard graphs.
//
// Source: Rousseeuw, "Multivariate estimation with high breakdown point", 1985; El Mhamdi, Guerraoui, Guirguis, Hoang,
// Rouault, "Genuinely Distributed Byzantine Machine Learning", PODC 2020 (arXiv:1905.03853).
type minimumDiameterRule struct{}

func (minimumDiameterRule) Name() string { return "mda" }

func (minimumDiameterRule) Condition(n, f int) error { return majority("mda", n, f) }

// Denominator returns the number of gradients that are averaged, included - f.
func (minimumDiameterRule) Denominator(_, f, included int) int64 {
	if f > maxDiameterF {
		return 0
	}
	return honestMajority(f, included)
}

func (minimumDiameterRule) Cost() string {
	return fmt.Sprintf("O(n^2 d) + O(1.47^f n), f <= %d", maxDiameterF)
}

func (minimumDiameterRule) Source() string { return "El Mhamdi et al., PODC 2020, arXiv:1905.03853" }

func (minimumDiameterRule) feasible(_, f, included int) error {
	switch {
	case f > maxDiameterF:
		return fmt.Errorf("rules: %w: mda with f = %d would search too long, want f <= %d", ErrInfeasible, f, maxDiameterF)
	case honestMajority(f, included) == 0:
		return fmt.Errorf("rules: %w: mda of %d included with f = %d, want at least 2f+1 = %d", ErrTooFew, included, f, 2*f+1)
	}
	return nil
}

func (minimumDiameterRule) aggregate(in Input, p points) (Output, error) {
	k := p.len()
	r := p.distances().ranks(p.floor)
	selected := r.closest(in.F)
	out := Output{Delta: p.mean(selected), Selected: p.entered(selected), Score: make([]int64, k), Margin: -1}
	isSelected := make([]bool, k)
	for _, i := range selected {
		isSelected[i] = true
	}
	inside, outside := 0, len(r.values)
	for i := range k {
		farthest := 0
		for _, j := range selected {
			farthest = max(farthest, r.of[i*k+j])
		}
		out.Score[i] = r.values[farthest]
		if isSelected[i] {
			inside = max(inside, farthest)
		} else {
			outside = min(outside, farthest)
		}
	}
	if outside < len(r.values) {
		out.Margin = max(0, r.values[outside]-r.values[inside])
	}
	return out, nil
}

// ranked holds the distances of n points by rank. The search needs no more, however large they are.
type ranked struct {
	n      int
	of     []int   // n*n ranks from 1 on; 0 for a point and itself
	values []int64 // by rank, saturated; values[0] is 0, for a point and itself
}

// ranks ranks the distances, those below floor counted as floor.
func (d distances) ranks(floor int64) ranked {
	if d.wide == nil {
		of, values := rank(d.narrow.Len(), func(i, j int) int64 { return max(d.narrow.At(i, j), floor) }, cmp.Compare[int64])
		return ranked{d.narrow.Len(), of, append([]int64{0}, values...)}
	}
	least := big.NewInt(floor)
	of, sorted := rank(len(d.wide), func(i, j int) *big.Int {
		if d.wide[i][j].Cmp(least) < 0 {
			return least
		}
		return d.wide[i][j]
	}, (*big.Int).Cmp)
	values := []int64{0}
	for _, x := range sorted {
		values = append(values, krum.Saturate(x))
	}
	return ranked{len(d.wide), of, values}
}

// rank returns the n*n ranks of a symmetric matrix's entries, from 1 on, among the different values
// off its diagonal, and these values in order.
func rank[E any](n int, at func(i, j int) E, compare func(a, b E) int) (of []int, values []E) {
	for i := range n {
		for j := range i {
			values = append(values, at(i, j))
		}
	}
	slices.SortFunc(values, compare)
	values = slices.CompactFunc(values, func(a, b E) bool { return compare(a, b) == 0 })
	of = make([]int, n*n)
	for i := range n {
		for j := range i {
			r, _ := slices.BinarySearchFunc(values, at(i, j), compare)
			of[i*n+j], of[j*n+i] = r+1, r+1
		}
	}
	return of, values
}

// closest returns, in ascending order, the positions of the n-f points of least diameter: of
// several such sets the one that comes first.
func (r ranked) closest(f int) []int {
	// The least rank t such that without f points no two are farther apart than t.
	lo, hi := 0, len(r.values)-1
	for lo < hi {
		if t := (lo + hi) / 2; r.conflicts(t).solve(f) {
			hi = t
		} else {
			lo = t + 1
		}
	}
	return r.conflicts(lo).firstWithout(f)[:r.n-f]
}

// conflicts returns the graph whose edges join the points that are farther apart than rank t.
func (r ranked) conflicts(t int) *graph {
	g := newGraph(r.n)
	for i := range r.n {
		for j := range i {
			if r.of[i*r.n+j] > t {
				g.join(i, j)
			}
		}
	}
	return g
}
