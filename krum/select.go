package krum

import (
	"cmp"
	"slices"

	"github.com/spdl/spdl/gradients"
)

// Result says what was selected and why.
type Result struct {
	// Selected holds m positions in the input, best first: Krum's choice, or multi-Krum's m best.
	Selected []int
	// Score holds for each input the sum of the squared distances to its N-f-2 nearest others, in
	// squared grid steps. In unsquared mode it is the sum of the distances, each rounded down to a
	// multiple of 2^-24 grid steps, in that unit. A sum beyond int64, which no set of gradients
	// reaches, shows as the largest int64.
	Score []int64
	// Neighbours holds for each input the positions that its score sums over, nearest first, at
	// equal distance the lower position first.
	Neighbours [][]int
	// Margin is the best score that was not selected minus the worst that was: 0 on a tie, and -1
	// if all were selected.
	Margin int64
}

// Select returns the m vectors with the least scores, where a vector's score is the sum of its
// squared distances to its N-f-2 nearest others (Blanchard et al. 2017, section 4). m = 1 is Krum,
// m = N-f multi-Krum. Equal scores go to the lower position: the vectors come in participant order.
//
// d holds the n included vectors, n <= N. A participant whose vector is missing is at distance
// infinity from everybody.
//
// Errors: ErrInfeasible if N < f+3, N > gradients.MaxParticipants, n > N, the floor is negative or
// m is outside [1, n]; ErrTooFew if n < N-f-1, when no score is finite.
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

// narrowBits bounds the squared distances of the fast path: those of gradients are all below 2^51,
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

// rank returns the positions 0 to n-1, least first by compare, which must be a total preorder; ties
// by position.
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
