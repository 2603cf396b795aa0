package krum

import (
	"cmp"
	"slices"

	"github.com/spdl/spdl/gradients"
)

// Result says which vectors were selected, and why.
type Result struct {
	// Selected holds m positions in the input, best first: Krum's choice, or multi-Krum's m best.
	Selected []int
	// Score holds, for each input, the sum of the squared distances to its N-f-2 nearest other inputs, in squared grid
	// steps. In unsquared mode it is the sum of the distances, each rounded down, in units of 2^-24 grid steps. A sum
	// beyond int64, which no set of gradients reaches, becomes the largest int64.
	Score []int64
	// Neighbours holds, for each input, the positions over which its score sums, nearest first, and
	// at equal distance the lower position first.
	Neighbours [][]int
	// Margin is the best score that was not selected minus the worst that was: 0 on a tie, and -1
	// if all inputs were selected.
	Margin int64
}

// Select returns the m vectors with the lowest scores. A vector's score is the sum of its squared distances to its
// N-f-2 nearest other vectors (Blanchard et al. 2017, section 4). m = 1 is Krum, and m = N-f is multi-Krum. Of equal
// scores the lower position wins; vectors are in participant order.
//
// d holds the n included vectors, n <= N. A missing vector is at distance infinity from every other.
//
// Errors: ErrInfeasible if N < f+3, N > gradients.MaxParticipants, n > N, the floor is negative or
// m is outside [1, n]; ErrTooFew if n < N-f-1, because then no score is finite.
//
// Cost: O(n^2 log n).
func Select(d *gradients.Distances, m int, o Options) (Result, error) {
	q, err := o.check(d.Len(), m)
	if err != nil {
		return Result{}, err
	}
	if !narrow(d, o.Floor) {
		return selectWide(bigRows(d), m, q, o), nil
	}
	r := Result{Score: make([]int64, d.Len()), Neighbours: Nearest(d, q, o.Floor)}
	for i, near := range r.Neighbours {
		row := d.Row(i)
		for _, j := range near { // fewer than 2^12 terms, below 2^51 each
			term := max(row[j], o.Floor)
			if o.Unsquared {
				term = int64(fixedRoot(uint64(term)))
			}
			r.Score[i] += term
		}
	}
	order := rank(len(r.Score), func(i, j int) int { return cmp.Compare(r.Score[i], r.Score[j]) })
	r.Selected = order[:m:m]
	r.Margin = -1
	if m < len(order) {
		r.Margin = r.Score[order[m]] - r.Score[order[m-1]]
	}
	return r, nil
}

// narrowBits bounds the squared distances of the fast path. Those of gradients are all below 2^51;
// see gradients.MaxSquaredDistance.
const narrowBits = 51

// narrow reports whether the floor and all distances are below 1<<narrowBits.
func narrow(d *gradients.Distances, floor int64) bool {
	all := floor
	for i := range d.Len() {
		for _, sq := range d.Row(i) {
			all |= sq
		}
	}
	return all>>narrowBits == 0
}

// rank returns the positions 0 to n-1 in ascending order by compare, which must be a total
// preorder, with ties decided by position.
func rank(n int, compare func(i, j int) int) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(i, j int) int {
		return cmp.Or(compare(i, j), cmp.Compare(i, j))
	})
	return order
}
