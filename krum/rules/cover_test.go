package rules

import (
	"math/bits"
	"testing"

	"github.com/stretchr/testify/require"
)

// edges of a random graph, sparse or dense.
func drawEdges(r *splitmix64, n int) (edges [][2]int) {
	share := 1 + r.below(9)
	for i := range n {
		for j := range i {
			if r.below(10) < share {
				edges = append(edges, [2]int{i, j})
			}
		}
	}
	return edges
}

// graphOf spreads the vertices over several words, keeping their order.
func graphOf(n, stride int, edges [][2]int) *graph {
	g := newGraph(n * stride)
	for _, e := range edges {
		g.join(e[0]*stride, e[1]*stride)
	}
	return g
}

// The search for covers, and for the first one in lexicographic order, against all subsets.
func TestCover(t *testing.T) {
	r := splitmix64(11)
	cases := 2000
	if testing.Short() {
		cases = 200
	}
	for range cases {
		n := 1 + r.below(10)
		edges := drawEdges(&r, n)
		budget := r.below(n)
		first, found := 0, false // as bits, the lowest position the highest bit
		for kept := range 1 << n {
			independent := bits.OnesCount(uint(kept)) == n-budget
			for _, e := range edges {
				independent = independent && (kept>>(n-1-e[0]))&(kept>>(n-1-e[1]))&1 == 0
			}
			if independent {
				first, found = kept, true // the larger, the earlier
			}
		}
		for _, stride := range []int{1, 17} {
			g := graphOf(n, stride, edges)
			require.Equal(t, found, g.clone().solve(budget), "%v without %d", edges, budget)
			if !found || stride > 1 {
				continue
			}
			kept := g.firstWithout(budget)
			require.GreaterOrEqual(t, len(kept), n-budget)
			got := 0
			for _, v := range kept[:n-budget] {
				got |= 1 << (n - 1 - v)
			}
			require.Equal(t, first, got, "%v without %d", edges, budget)
		}
	}
}

// What is removed is a cover, and no larger than the budget.
func TestCoverIsACover(t *testing.T) {
	r := splitmix64(12)
	for range 300 {
		n := 70 + r.below(70)
		edges := drawEdges(&r, 14) // the others have none
		for i := range edges {
			edges[i][0], edges[i][1] = n-1-edges[i][0]*4, n-1-edges[i][1]*4
		}
		g := graphOf(n, 1, edges)
		budget := r.below(14)
		if !g.solve(budget) {
			continue
		}
		removed := 0
		for v := range n {
			if !g.isAlive(v) {
				removed++
			}
		}
		require.LessOrEqual(t, removed, budget)
		for _, e := range edges {
			require.False(t, g.isAlive(e[0]) && g.isAlive(e[1]))
		}
	}
}

// Disjoint cliques are as hard as anything that was tried at the largest f: of m cliques of c
// vertices m(c-1) must go.
func TestCoverOfCliques(t *testing.T) {
	for c := 3; c <= 8; c++ {
		for m := 1; m*c <= 100; m++ {
			var edges [][2]int
			for v := range m * c {
				for w := v - v%c; w < v; w++ {
					edges = append(edges, [2]int{v, w})
				}
			}
			require.Equal(t, m*(c-1) <= maxDiameterF, graphOf(100, 1, edges).solve(maxDiameterF), "%d cliques of %d", m, c)
		}
	}
}
