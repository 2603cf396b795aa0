package rules

import (
	"math"
	"math/big"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/krum"
)

// The distances of mixtures, from the distances of vectors alone, against mixtures that are formed.
func TestMixtureDistances(t *testing.T) {
	r := splitmix64(5)
	for range 500 {
		n := 2 + r.below(8)
		w := []gradients.Width{gradients.Int8, gradients.Int16}[r.below(2)]
		in := Input{N: n, F: r.below(n), Vectors: generate(w, n, 5, int(w.Max()), r.next())}
		p := mix(in)
		got, wide := p.mixtureDistances(), p.wideMixtureDistances()
		for i := range n {
			for j := range n {
				var want int64
				for k := range 5 {
					var gap int64
					for _, a := range p.members[i] {
						gap += in.Vectors[a].At(k)
					}
					for _, b := range p.members[j] {
						gap -= in.Vectors[b].At(k)
					}
					want += gap * gap
				}
				require.Equal(t, want, got.At(i, j))
				require.Equal(t, want, wide[i][j].Int64())
			}
		}
	}
}

// Stretching all distances until sums leave int64 changes the path and no selection.
func TestMixturesBeyondInt64(t *testing.T) {
	r := splitmix64(6)
	for range 200 {
		in := Input{N: 7, F: 2, Vectors: generate(gradients.Int8, 7, 4, 20, r.next())}
		p := mix(in)
		for _, unsquared := range []bool{false, true} {
			o := krum.Options{N: 7, F: 2, Unsquared: unsquared}
			want, err := p.distances().selectBest(3, o)
			require.NoError(t, err)
			stretched := p
			stretched.pairs = gradients.DistancesOf(7, func(i, j int) int64 { return p.pairs.At(i, j) << 49 })
			require.NotNil(t, stretched.distances().wide)
			got, err := stretched.distances().selectBest(3, o)
			require.NoError(t, err)
			require.Equal(t, want.Selected, got.Selected)
			require.Equal(t, want.Neighbours, got.Neighbours)
			for i, s := range want.Score {
				if exact := new(big.Int).Lsh(big.NewInt(s), 49); !unsquared {
					if !exact.IsInt64() {
						exact.SetInt64(math.MaxInt64)
					}
					require.Equal(t, exact.Int64(), got.Score[i])
				}
			}
		}
	}
}

func TestLargestSum(t *testing.T) {
	members := make([][]int, 3)
	for i := range members {
		members[i] = make([]int, 4)
	}
	for _, c := range []struct {
		largest int64
		narrow  bool
	}{{1<<59 - 1, true}, {1 << 59, false}, {math.MaxInt64, false}} {
		p := points{members: members, pairs: gradients.DistancesOf(3, func(i, j int) int64 { return c.largest })}
		sum, ok := p.largestSum()
		require.Equal(t, c.narrow, ok && sum <= math.MaxInt64)
	}
}

// By the 0-1 principle a network that works on all 0-1 inputs works on all inputs.
func TestMiddleNetworkSelectsRanks(t *testing.T) {
	for n := 1; n <= 12; n++ {
		for from := range n {
			for to := from + 1; to <= n; to++ {
				network := middleNetwork(n, from, to)
				for bits := range 1 << n {
					values, ones := make([]int, n), 0
					for i := range values {
						values[i] = bits >> i & 1
						ones += values[i]
					}
					for _, c := range network {
						if values[c.lo] > values[c.hi] {
							values[c.lo], values[c.hi] = values[c.hi], values[c.lo]
						}
					}
					got := 0
					for _, v := range values[from:to] {
						got += v
					}
					// Of sorted zeros and ones, the ones among ranks [from, to).
					if want := max(0, min(to-from, to-(n-ones))); got != want {
						t.Fatalf("n=%d ranks %d to %d of %b: %d ones, want %d", n, from, to, bits, got, want)
					}
				}
			}
		}
	}
}

func TestLanes(t *testing.T) {
	require.Equal(t, 4, lanesFor(1<<15-1).count)
	require.Equal(t, 2, lanesFor(1<<15).count)
	r := splitmix64(8)
	for _, most := range []int64{1<<15 - 1, 1<<31 - 1} {
		l := lanesFor(most)
		width := stripWords * l.count
		draw := func() []int16 {
			q := make([]int16, 1+r.below(width))
			for i := range q {
				q[i] = int16([]int64{-16383, -1, 0, 1, 16383, int64(r.below(32767)) - 16383}[r.below(6)])
			}
			return q
		}
		for range 2000 {
			a, b := draw(), draw()
			b = append(b, a...)[:len(a)]
			rows := make([]strip, 2)
			pack(l, &rows[0], a, 16383)
			pack(l, &rows[1], b, 16383)
			l.exchange(&rows[0], &rows[1])
			lesser, both := make([]int64, len(a)), make([]int64, len(a))
			l.sum(lesser, rows[:1], 16383)
			l.sum(both, rows, 2*16383)
			for i := range a {
				require.Equal(t, int64(min(a[i], b[i])), lesser[i])
				require.Equal(t, int64(a[i])+int64(b[i]), both[i])
			}
		}
	}
}
