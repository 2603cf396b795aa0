package rules

import (
	"math/bits"
	"slices"
)

// graph is an undirected graph on at most a few thousand vertices, from which vertices are removed.
type graph struct {
	n, words int
	adjacent []uint64 // n rows of words: the edges there were at first
	alive    []uint64 // the vertices that have not been removed
	degree   []int32  // of the living ones, among themselves
}

func newGraph(n int) *graph {
	words := (n + 63) / 64
	g := &graph{
		n: n, words: words,
		adjacent: make([]uint64, n*words), alive: make([]uint64, words), degree: make([]int32, n),
	}
	for v := range n {
		g.alive[v/64] |= 1 << (v % 64)
	}
	return g
}

// join adds the edge of i and j, which must not exist yet.
func (g *graph) join(i, j int) {
	g.adjacent[i*g.words+j/64] |= 1 << (j % 64)
	g.adjacent[j*g.words+i/64] |= 1 << (i % 64)
	g.degree[i]++
	g.degree[j]++
}

// clone returns a copy with its own alive and degree, which removal changes.
func (g *graph) clone() *graph {
	c := *g
	c.alive, c.degree = slices.Clone(g.alive), slices.Clone(g.degree)
	return &c
}

// set makes g a copy of o, which must have the same edges.
func (g *graph) set(o *graph) {
	copy(g.alive, o.alive)
	copy(g.degree, o.degree)
}

func (g *graph) isAlive(v int) bool { return g.alive[v/64]>>(v%64)&1 == 1 }

// remove removes v and its edges.
func (g *graph) remove(v int) {
	g.alive[v/64] &^= 1 << (v % 64)
	g.degree[v] = 0
	for w, row := range g.adjacent[v*g.words : (v+1)*g.words] {
		for row &= g.alive[w]; row != 0; row &= row - 1 {
			g.degree[64*w+bits.TrailingZeros64(row)]--
		}
	}
}

// removeNeighbours removes all neighbours of v.
func (g *graph) removeNeighbours(v int) {
	for w := range g.words {
		for row := g.adjacent[v*g.words+w] & g.alive[w]; row != 0; row &= row - 1 {
			g.remove(64*w + bits.TrailingZeros64(row))
		}
	}
}

// solve reports whether removing budget vertices can leave no edge, and if so removes as many or
// fewer. If not, g is left in disorder.
func (g *graph) solve(budget int) bool {
	return g.cover(int32(budget), nil)
}

// cover is solve, by bounded search (Downey and Fellows, "Parameterized Complexity", 1999, section
// 3.2.1): of a vertex and its neighbours either must be in the cover.
//
// Some removals are safe without a choice: a vertex whose degree exceeds the budget, the neighbour of a vertex of
// degree 1, and any vertex of a circle. A vertex takes away no more edges than the largest degree; if the budget cannot
// suffice for that reason, the search gives up. Otherwise it branches on a vertex of largest degree, which is at least
// 3: remove it, or remove its neighbours. Hence it visits at most T(b) = 1 + T(b-1) + T(b-3) nodes for budget b.
//
// spare holds graphs of the same edges to copy to, one per level; missing ones are made.
func (g *graph) cover(budget int32, spare *level) bool {
	for {
		var edges, most int32
		hub, leaf := 0, -1
		for v, d := range g.degree {
			edges += d
			if d > most {
				most, hub = d, v
			}
			if d == 1 {
				leaf = v
			}
		}
		edges /= 2
		switch {
		case most == 0:
			return true
		case edges > budget*most:
			return false
		case most > budget:
			g.remove(hub)
			budget--
		case leaf >= 0:
			g.removeNeighbours(leaf)
			budget--
		case most == 2:
			g.remove(hub)
			budget--
		default:
			if spare == nil {
				spare = &level{graph: g.clone()}
			} else {
				spare.graph.set(g)
			}
			spare.graph.remove(hub)
			if spare.graph.cover(budget-1, spare.next()) {
				g.set(spare.graph)
				return true
			}
			g.removeNeighbours(hub)
			budget -= most
		}
	}
}

// level is a graph to copy to, and the levels below.
type level struct {
	graph *graph
	below *level
}

func (l *level) next() *level {
	if l.below == nil {
		l.below = &level{graph: l.graph.clone()}
	}
	return l.below
}

// firstWithout returns vertices without edges between them, ascending, at least n-budget of them:
// of all sets of n-budget such vertices its first n-budget ones come first in lexicographic order.
// Removing budget vertices must leave no edge.
//
// It goes through the vertices in order and keeps each one that some solution keeps together with
// those kept before. If the last solution found keeps it, no search is needed. Otherwise the vertex
// has an edge, so that keeping it costs at least one of the budget, as dropping it does. Hence
// there are at most as many searches as the budget, with ever smaller budgets.
func (g *graph) firstWithout(budget int) []int {
	solution := g.clone()
	solution.solve(budget)
	trial := g.clone()
	var kept []int
	for v := range g.n {
		if !g.isAlive(v) {
			continue
		}
		degree := int(g.degree[v])
		if !solution.isAlive(v) && degree > 0 {
			if trial.set(g); degree <= budget {
				trial.removeNeighbours(v)
			}
			if degree > budget || !trial.solve(budget-degree) {
				g.remove(v)
				budget--
				continue
			}
			solution.set(trial)
		}
		kept = append(kept, v)
		g.removeNeighbours(v)
		budget -= degree
	}
	return kept
}
