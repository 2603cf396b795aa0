package krum

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/internal/stage"
)

// feasible draws n included vectors, m to select, and options that admit them.
func feasible(r *splitmix64) (n, m int, o Options) {
	o.N = 3 + r.below(10)
	o.F = r.below(o.N - 2)
	q := o.N - o.F - 2
	n = q + 1 + r.below(o.N-q)
	o.Unsquared = r.below(2) == 1
	return n, 1 + r.below(n), o
}

func TestSelectMatchesTheReference(t *testing.T) {
	for name, family := range families {
		t.Run(name, func(t *testing.T) {
			r := splitmix64(len(name))
			for range stage.Pick(200, 200, 1000) { // times twelve families
				n, m, o := feasible(&r)
				d := draw(&r, n, family)
				if r.below(3) == 0 {
					o.Floor = family(&r)
				}
				got, err := Select(d, m, o)
				require.NoError(t, err)
				selected, neighbours := reference(bigRows(d), m, o)
				require.Equal(t, neighbours, got.Neighbours, "%+v", o)
				require.Equal(t, selected, got.Selected, "%+v", o)
				requireScores(t, d, got, o)

				wide, err := SelectWide(bigRows(d), m, o)
				require.NoError(t, err)
				require.Equal(t, got, wide, "both paths agree, %+v", o)
			}
		})
	}
}

// requireScores checks scores and margin against their definition.
func requireScores(t *testing.T, d *gradients.Distances, r Result, o Options) {
	t.Helper()
	for i, near := range r.Neighbours {
		sum := new(big.Int)
		for _, j := range near {
			term := big.NewInt(max(d.At(i, j), o.Floor))
			if o.Unsquared {
				term = bisectedRoot(term)
			}
			sum.Add(sum, term)
		}
		if !sum.IsInt64() {
			sum.SetInt64(math.MaxInt64)
		}
		require.Equal(t, sum.Int64(), r.Score[i])
	}
	if len(r.Selected) == len(r.Score) {
		require.Equal(t, int64(-1), r.Margin)
		return
	}
	taken := make([]bool, len(r.Score))
	for _, i := range r.Selected {
		taken[i] = true
	}
	best := int64(math.MaxInt64)
	for i, s := range r.Score {
		if !taken[i] {
			best = min(best, s)
		}
	}
	last := r.Score[r.Selected[len(r.Selected)-1]]
	if best < math.MaxInt64 {
		require.Equal(t, max(0, best-last), r.Margin)
	}
}

func TestSelectRefuses(t *testing.T) {
	d := func(n int) *gradients.Distances { return gradients.Pairwise(generate(n, 3, 9, 1)) }
	for _, c := range []struct {
		name string
		n, m int
		o    Options
		want error
		says string
	}{
		{"f too large", 4, 1, Options{N: 4, F: 2}, ErrInfeasible, "N = 4, f = 2"},
		{"negative f", 4, 1, Options{N: 4, F: -1}, ErrInfeasible, "f = -1"},
		{"nobody", 0, 1, Options{}, ErrInfeasible, "N = 0"},
		{"too many participants", 4, 1, Options{N: 4097, F: 1}, ErrInfeasible, "4097"},
		{"more vectors than participants", 5, 1, Options{N: 4, F: 1}, ErrInfeasible, "5 vectors of 4"},
		{"negative floor", 4, 1, Options{N: 4, F: 1, Floor: -1}, ErrInfeasible, "floor -1"},
		{"too few", 7, 1, Options{N: 10, F: 1}, ErrTooFew, "7 included, so a vector has 6 others, but its score needs " +
			"the N-f-2 = 7"},
		{"none", 0, 1, Options{N: 10, F: 3}, ErrTooFew, "0 included, so a vector has 0 others"},
		{"m = 0", 4, 0, Options{N: 4, F: 1}, ErrInfeasible, "select 0 of 4"},
		{"m > n", 3, 4, Options{N: 4, F: 1}, ErrInfeasible, "select 4 of 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Select(d(c.n), c.m, c.o)
			require.ErrorIs(t, err, c.want)
			require.ErrorContains(t, err, c.says)
			_, err = SelectWide(bigRows(d(c.n)), c.m, c.o)
			require.ErrorIs(t, err, c.want)
		})
	}
}

func TestSelectWide(t *testing.T) {
	x := func(s string) *big.Int { v, _ := new(big.Int).SetString(s, 10); return v }
	a, b, c := x("100000000000000000000000000"), x("100000000000000000000000001"), x("400000000000000000000000000")
	sq := [][]*big.Int{{nil, c, b}, {c, nil, a}, {b, a, nil}}
	for _, unsquared := range []bool{false, true} {
		r, err := SelectWide(sq, 1, Options{N: 3, Unsquared: unsquared})
		require.NoError(t, err)
		if unsquared { // rounded down to 2^-24, the roots of a and b are equal
			require.Equal(t, []int{0}, r.Selected)
		} else {
			require.Equal(t, []int{1}, r.Selected) // ties with 2, which is as close to 1
		}
		require.Equal(t, [][]int{{2}, {2}, {1}}, r.Neighbours)
		require.Equal(t, []int64{math.MaxInt64, math.MaxInt64, math.MaxInt64}, r.Score)
		require.Equal(t, int64(0), r.Margin)
	}
	require.Panics(t, func() { _, _ = SelectWide([][]*big.Int{{nil}, {nil}}, 1, Options{N: 3}) })
	require.Panics(t, func() { _, _ = SelectWide([][]*big.Int{{nil, x("-1")}, {x("1"), nil}}, 1, Options{N: 3}) })
}
