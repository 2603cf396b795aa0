package gradients

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"
)

// refFractionDot computes <v, f.Num> in big integers.
func refFractionDot(f Fraction, v Vector) *big.Int {
	sum := new(big.Int)
	for j, num := range f.Num {
		sum.Add(sum, new(big.Int).Mul(big.NewInt(num), big.NewInt(v.At(j))))
	}
	return sum
}

func TestFractionDotNeverOverflows(t *testing.T) {
	r := splitmix64(7)
	nums := []int64{0, 1, -1, math.MaxInt64, math.MinInt64, math.MaxInt64 - 1, 1 << 39, -1 << 39, 1 << 55}
	for range 20000 {
		w := []Width{Int8, Int16}[r.below(2)]
		d := r.below(6)
		f, v := Fraction{Num: make([]int64, d), Den: 1}, NewVector(w, d)
		for j := range d {
			f.Num[j] = nums[r.below(len(nums))]
			v.Set(j, []int64{0, 1, -1, w.Max(), -w.Max()}[r.below(5)])
		}
		require.Zero(t, refFractionDot(f, v).Cmp(f.Dot(v)), "%v . %v", f, v)
	}
	require.Panics(t, func() { Fraction{Num: []int64{1}, Den: 1}.Dot(NewVector(Int8, 2)) })
}

func TestFractionDotOfLongVectors(t *testing.T) {
	// Every product is 2^63 * 16383, and only the last one decides the sign.
	d := 1 << 16
	f, v := Fraction{Num: make([]int64, d+1), Den: 1}, NewVector(Int16, d+1)
	for j := range d {
		f.Num[j] = math.MinInt64
		v.Set(j, 16383-2*16383*int64(j%2))
	}
	require.Zero(t, f.Dot(v).Sign())
	f.Num[d] = 1
	v.Set(d, 1)
	require.EqualValues(t, 1, f.Dot(v).Int64())
	v.Set(d, -1)
	require.EqualValues(t, -1, f.Dot(v).Int64())
}

// TestOpposes: the bound itself does not oppose, one part below it does, in wide
// arithmetic too.
func TestOpposes(t *testing.T) {
	v := NewVector(Int8, 2)
	v.Set(0, 10)
	for _, scale := range []int64{1, 1 << 55} {
		f := Fraction{Num: []int64{-25 * scale, 7}, Den: 10 * scale} // <v, Delta> = -25
		for share, want := range map[int64]bool{0: true, 249_999: true, 250_000: false, 1_000_000: false} {
			require.Equal(t, want, f.Opposes(v, share, 100), "share %d", share)
		}
		f.Num[0] = 0
		require.False(t, f.Opposes(v, 0, 100), "a right angle does not oppose")
	}
}

func TestFractionWithin(t *testing.T) {
	f := Fraction{Num: []int64{0, 10, -10}, Den: 3}
	for _, c := range []struct {
		o         []int64
		tolerance int64
		j         int
		ok        bool
	}{
		{[]int64{0, 10, -10}, 0, -1, true},
		{[]int64{0, 11, -10}, 0, 1, false},
		{[]int64{3, 13, -13}, 1, -1, true},
		{[]int64{3, 13, -14}, 1, 2, false},
		{[]int64{-4, 13, -14}, 1, 0, false},
		{[]int64{math.MaxInt64, 10, -10}, 1, 0, false},
		{[]int64{0, math.MinInt64, -10}, 1, 1, false},
		{[]int64{0, 10, math.MaxInt64}, math.MaxInt64 / 4, 2, false},
		{[]int64{math.MinInt64, math.MaxInt64, math.MinInt64}, math.MaxInt64, -1, true},
	} {
		j, ok := f.Within(Fraction{Num: c.o, Den: 3}, c.tolerance)
		require.Equal(t, c.ok, ok, "%v", c)
		require.Equal(t, c.j, j, "%v", c)
	}
	extremes := Fraction{Num: []int64{math.MinInt64}, Den: 1}
	j, ok := extremes.Within(Fraction{Num: []int64{math.MaxInt64}, Den: 1}, math.MaxInt64)
	require.Equal(t, 0, j)
	require.False(t, ok)
	require.Panics(t, func() { f.Within(Fraction{Num: f.Num, Den: 4}, 0) })
	require.Panics(t, func() { f.Within(Fraction{Num: f.Num[:2], Den: 3}, 0) })
	require.Panics(t, func() { f.Within(f, -1) })
}

func TestMean(t *testing.T) {
	for _, w := range []Width{Int8, Int16} {
		for _, n := range []int{1, 2, 3, 4, 5, 9} {
			for _, d := range []int{0, 1, 70, BlockDim + 3, 20*BlockDim + 1} {
				vs := generate(w, n, d, uint64(n+d))
				f := Mean(vs)
				require.Equal(t, int64(n), f.Den)
				require.Len(t, f.Num, d)
				for j := 0; j < d; j += 1 + d/97 {
					var sum int64
					for _, v := range vs {
						sum += v.At(j)
					}
					require.Equal(t, sum, f.Num[j])
				}
			}
		}
	}
	require.Panics(t, func() { Mean(nil) })
}

func TestWeightedMean(t *testing.T) {
	vs := []Vector{FromInt8([]int8{1, -2}), FromInt8([]int8{10, 20}), FromInt8([]int8{100, 127})}
	require.Equal(t, Fraction{Num: []int64{203, 248}, Den: 5}, WeightedMean(vs, []int64{3, 0, 2}))
	require.Equal(t, "203/5", fraction(WeightedMean(vs, []int64{3, 0, 2}), 0).String())
	for _, weights := range [][]int64{nil, {1, 2}, {0, 0, 0}, {-1, 2, 3}, {MaxDenominator, 1, 0},
		{MaxDenominator + 1, 0, 0}} {
		require.Panics(t, func() { WeightedMean(vs, weights) }, "%v", weights)
	}
}

func TestInBlocksCoversEveryCoordinateOnce(t *testing.T) {
	for _, d := range []int{0, 1, BlockDim, BlockDim + 1, 10*BlockDim + 5} {
		for _, cost := range []int{0, 1 << 20} {
			hits := make([]int, d)
			InBlocks(d, cost, func(lo, hi int) {
				for j := lo; j < hi; j++ {
					hits[j]++
				}
			})
			for j, h := range hits {
				require.Equal(t, 1, h, "coordinate %d of %d", j, d)
			}
		}
	}
}

func TestInBlocksPanicsOnTheCaller(t *testing.T) {
	for _, cost := range []int{0, 1 << 20} {
		require.PanicsWithValue(t, "boom", func() {
			InBlocks(8*BlockDim, cost, func(lo, _ int) {
				if lo == 3*BlockDim {
					panic("boom")
				}
			})
		})
	}
}
