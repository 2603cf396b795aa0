package krum

import (
	"cmp"
	"fmt"
	"math"
	"math/big"

	"github.com/spdl/spdl/gradients"
)

// SelectWide is Select for squared distances of any size, such as those of sums of many vectors.
// sq[i][j] is the squared distance of i and j; sq is symmetric, and its diagonal is ignored.
// SelectWide is slow, and gives the same result as Select wherever both apply.
//
// It panics if sq is not square or a distance is negative.
func SelectWide(sq [][]*big.Int, m int, o Options) (Result, error) {
	for i, row := range sq {
		if len(row) != len(sq) {
			panic(fmt.Sprintf("krum: row %d has %d of %d distances", i, len(row), len(sq)))
		}
		for j, x := range row {
			if j != i && x.Sign() < 0 {
				panic(fmt.Sprintf("krum: squared distance %v of %d and %d is negative", x, i, j))
			}
		}
	}
	q, err := o.check(len(sq), m)
	if err != nil {
		return Result{}, err
	}
	return selectWide(sq, m, q, o), nil
}

// selectWide applies the definition in big integers.
func selectWide(sq [][]*big.Int, m, q int, o Options) Result {
	n := len(sq)
	r := Result{Score: make([]int64, n), Neighbours: make([][]int, n)}
	floor := big.NewInt(o.Floor)
	score := make([]*big.Int, n)
	for i := range n {
		at := func(j int) *big.Int {
			if sq[i][j].Cmp(floor) < 0 {
				return floor
			}
			return sq[i][j]
		}
		others := rank(n, func(j, k int) int {
			if j == i || k == i { // puts i itself last, where it is not read
				return cmp.Compare(b2i(j == i), b2i(k == i))
			}
			return at(j).Cmp(at(k))
		})
		r.Neighbours[i] = others[:q:q]
		score[i] = new(big.Int)
		for _, j := range r.Neighbours[i] {
			term := at(j)
			if o.Unsquared {
				term = wideRoot(term)
			}
			score[i].Add(score[i], term)
		}
		r.Score[i] = Saturate(score[i])
	}
	order := rank(n, func(i, j int) int { return score[i].Cmp(score[j]) })
	r.Selected = order[:m:m]
	r.Margin = -1
	if m < n {
		r.Margin = Saturate(new(big.Int).Sub(score[order[m]], score[order[m-1]]))
	}
	return r
}

// bigRows returns a copy of d in big integers.
func bigRows(d *gradients.Distances) [][]*big.Int {
	rows := make([][]*big.Int, d.Len())
	for i := range rows {
		for _, x := range d.Row(i) {
			rows[i] = append(rows[i], big.NewInt(x))
		}
	}
	return rows
}

// Saturate returns x, or the largest int64 if x is larger. x is not negative.
func Saturate(x *big.Int) int64 {
	if !x.IsInt64() {
		return math.MaxInt64
	}
	return x.Int64()
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}
