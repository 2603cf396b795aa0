package rules

import "github.com/spdl/spdl/gradients"

// nearMedian returns, for each coordinate, the mean of the take points whose values are nearest to the median of all;
// of an even number of values the median is the mean of the two in the middle. At equal distance the lower value counts
// as the nearer, so that the result does not depend on the points' order.
//
// Once the values are sorted, x_0 <= x_1 <= ..., those nearest to the median are take consecutive ones. With m the sum
// of the two in the middle, the value x_(s+take) is nearer to m/2 than x_s if and only if x_s + x_(s+take) < m. Both
// terms on the left grow with s, so this holds for s below some bound and not beyond. The search therefore starts with
// the lowest possible range, and replaces each x_s for which it holds by x_(s+take).
func (p points) nearMedian(take int) gradients.Fraction {
	return p.columns(nearestMiddle(p.len(), take))
}

// nearestMiddle returns the ranks, network and replacements for the take values nearest to the median of n.
func nearestMiddle(n, take int) middle {
	lo, hi := (n-1)/2, n/2
	first := max(0, lo-take+1)
	v := nearer{first: first, last: max(first, min(lo, n-take)), take: take, lo: lo, hi: hi}
	return middle{from: first, to: first + take, nearer: v, network: prune(mergeExchange(n), v.heaps(n))}
}

// A nearer replaces values in a sorted column by ones that are nearer to the median. The zero value replaces none.
type nearer struct {
	first, last int // ranks that may be replaced, at most lo
	take        int // rank s is replaced by rank s+take, which is above lo
	lo, hi      int // ranks of the two values in the middle, which are one if their number is odd
}

// heaps returns for each rank whether its value is compared by itself (exact), or else the sum that it enters.
func (v nearer) heaps(n int) []int {
	heap := make([]int, n)
	for i := range heap {
		switch {
		case v.first < v.last && (i == v.lo || i == v.hi ||
			i >= v.first && i < v.last || i >= v.first+v.take && i < v.last+v.take):
			heap[i] = exact
		case i >= v.last+v.take:
			heap[i] = 2
		case i >= v.first:
			heap[i] = 1
		}
	}
	return heap
}

// choose does the replacements in sorted strips.
func (v nearer) choose(l lanes, sorted []strip) {
	for s := v.first; s < v.last; s++ {
		l.nearer(&sorted[s], &sorted[s+v.take], &sorted[v.lo], &sorted[v.hi])
	}
}

// nearer replaces each lane of a by that of b where b lies nearer to the middle of lo and hi. Lanes
// must be ordered a <= lo <= hi <= b; a must be none of the others.
func (l lanes) nearer(a, b, lo, hi *strip) {
	high, shift := l.high, (l.bits-1)&63
	for w := range a {
		x, y := a[w], b[w]
		below, above := lo[w]-x, y-hi[w] // no lane borrows
		lt := ((above|high)-below)&high ^ high
		swap := (x ^ y) & (lt - lt>>shift)
		a[w] = x ^ swap
	}
}
