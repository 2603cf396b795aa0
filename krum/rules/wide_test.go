package rules

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/spdl/spdl/gradients"
)

// requireSameColumns compares the kernels with the twin, on all ranges of ranks that matter.
func requireSameColumns(t *testing.T, p points) {
	t.Helper()
	if !haveKernels {
		t.Skip("no kernels in this build or CPU")
	}
	n := p.len()
	for _, r := range [][2]int{{0, n}, {(n - 1) / 2, n/2 + 1}, {n / 3, n - n/3}, {n - 1, n}} {
		m := middle{from: r[0], to: r[1], network: middleNetwork(n, r[0], r[1])}
		requireSame(t, p, m)
	}
	for _, take := range []int{1, (n + 1) / 2, n - n/3, n} {
		requireSame(t, p, nearestMiddle(n, take))
	}
}

func requireSame(t *testing.T, p points, m middle) {
	t.Helper()
	want, got := p.columnsWith(m, false), p.columnsWith(m, true)
	for j := range want.Num {
		if got.Num[j] != want.Num[j] {
			t.Fatalf("%d points of %d vectors, %d members, d=%d, ranks %d to %d: coordinate %d is %d, the twin has %d",
				p.len(), len(p.vectors), p.size(), len(want.Num), m.from, m.to, j, got.Num[j], want.Num[j])
		}
	}
}

// extremes are patterns of coordinates at the ends of the grid.
var extremes = map[string]func(most int64, i, k int) int64{
	"most":        func(most int64, _, _ int) int64 { return most },
	"least":       func(most int64, _, _ int) int64 { return -most },
	"alternating": func(most int64, i, k int) int64 { return most - 2*most*int64((i+k)%2) },
	"thirds":      func(most int64, i, k int) int64 { return most - most*int64((i*i+k)%3) },
	"steps":       func(most int64, i, k int) int64 { return (most - int64(i*7+k)%(2*most+1)) },
}

func TestKernelsMatchTheTwinAtEveryLength(t *testing.T) {
	for _, w := range []gradients.Width{gradients.Int8, gradients.Int16} {
		for d := 1; d <= 2*128+3; d++ {
			requireSameColumns(t, points{vectors: generate(w, 5+d%4, d, int(w.Max()), uint64(d))})
		}
		for _, d := range []int{1023, 1024, 1025, 1100, 2048 + 131} {
			requireSameColumns(t, points{vectors: generate(w, 9, d, 3, uint64(d))}) // many ties
		}
	}
}

func TestKernelsMatchTheTwinOnExtremes(t *testing.T) {
	for name, at := range extremes {
		for _, w := range []gradients.Width{gradients.Int8, gradients.Int16} {
			for _, n := range []int{1, 2, 3, 4, 30, 100, 257, 300, 520} {
				t.Run(fmt.Sprintf("%s/%v/n=%d", name, w, n), func(t *testing.T) {
					vs := make([]gradients.Vector, n)
					for i := range vs {
						vs[i] = gradients.NewVector(w, 131)
						for k := range 131 {
							vs[i].Set(k, at(w.Max(), i, k))
						}
					}
					requireSameColumns(t, points{vectors: vs})
					for _, size := range mixtureSizes(n) {
						requireSameColumns(t, mixtures(vs, size))
					}
				})
			}
		}
	}
}

// mixtureSizes returns sizes on both sides of where sums need wider lanes.
func mixtureSizes(n int) []int {
	var sizes []int
	for _, size := range []int{1, 2, 3, n - 1, 255, 256, 257, 258, 259, 513} {
		if size >= 1 && size <= n {
			sizes = append(sizes, size)
		}
	}
	return sizes
}

// mixtures returns sums of size vectors each, of consecutive positions; the first has one vector
// size times.
func mixtures(vs []gradients.Vector, size int) points {
	p := points{vectors: vs, members: make([][]int, min(len(vs), 9))}
	for i := range p.members {
		for k := range size {
			p.members[i] = append(p.members[i], (3*i+k*b2i(i > 0))%len(vs))
		}
	}
	return p
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

func TestKernelsMatchTheTwinOnMixtures(t *testing.T) {
	for _, w := range []gradients.Width{gradients.Int8, gradients.Int16} {
		for _, n := range []int{2, 3, 7, 30, 300, 600} {
			for _, d := range []int{1, 31, 32, 33, 63, 64, 65, 96, 97} {
				for _, size := range mixtureSizes(n) {
					requireSameColumns(t, mixtures(generate(w, n, d, int(w.Max()), uint64(n+d)), size))
				}
			}
		}
	}
}

func TestKernelsMatchTheTwin(t *testing.T) {
	if !haveKernels {
		t.Skip("no kernels in this build or CPU")
	}
	rapid.Check(t, kernelsMatchTheTwin)
}

func FuzzKernelsMatchTheTwin(f *testing.F) {
	if !haveKernels {
		f.Skip("no kernels in this build or CPU")
	}
	f.Fuzz(rapid.MakeFuzz(kernelsMatchTheTwin))
}

func kernelsMatchTheTwin(t *rapid.T) {
	w := rapid.SampledFrom([]gradients.Width{gradients.Int8, gradients.Int16}).Draw(t, "width")
	k, d := rapid.IntRange(1, 40).Draw(t, "vectors"), rapid.IntRange(1, 300).Draw(t, "d")
	spread := rapid.SampledFrom([]int{1, 9, int(w.Max())}).Draw(t, "spread")
	p := points{vectors: generate(w, k, d, spread, rapid.Uint64().Draw(t, "seed"))}
	if rapid.Bool().Draw(t, "mixed") {
		size := rapid.IntRange(1, 300).Draw(t, "size")
		for range rapid.IntRange(1, 40).Draw(t, "points") {
			position := rapid.IntRange(0, k-1)
			p.members = append(p.members, rapid.SliceOfN(position, size, size).Draw(t, "members"))
		}
	}
	n := p.len()
	from := rapid.IntRange(0, n-1).Draw(t, "from")
	to := rapid.IntRange(from+1, n).Draw(t, "to")
	m := middle{from: from, to: to, network: middleNetwork(n, from, to)}
	if rapid.Bool().Draw(t, "around the median") {
		m = nearestMiddle(n, to-from)
	}
	require.Equal(t, p.columnsWith(m, false), p.columnsWith(m, true))
}

func TestMeanOfSomeIsTheirWeightedMean(t *testing.T) {
	for _, w := range []gradients.Width{gradients.Int8, gradients.Int16} {
		for _, n := range []int{1, 2, 30, 257, 600} {
			p := points{vectors: generate(w, n, 300, int(w.Max()), uint64(n))}
			selected := ascending(n)[n/3:]
			require.Equal(t, gradients.WeightedMean(p.vectors, p.weights(selected)), p.mean(selected))
		}
	}
}

// Vectors are windows of one array whose neighbours hold other values.
func TestKernelsReadNothingBeyondTheirRows(t *testing.T) {
	for d := 1; d <= 140; d++ {
		const n = 5
		backing := make([]int8, n*(d+64)+64)
		for i := range backing {
			backing[i] = int8(i%255 - 127)
		}
		vs, clean := make([]gradients.Vector, n), make([]gradients.Vector, n)
		for i := range vs {
			off := 33 + i*(d+64)
			vs[i] = gradients.FromInt8(backing[off : off+d : off+d])
			clean[i] = gradients.FromInt8(append(make([]int8, 0, d), backing[off:off+d]...))
		}
		m := middle{from: 1, to: 4, network: middleNetwork(n, 1, 4)}
		require.Equal(t, points{vectors: clean}.columnsWith(m, false), points{vectors: vs}.columns(m))
	}
}

func TestColumnsAllocateOnlyTheirResult(t *testing.T) {
	if !haveKernels {
		t.Skip("no kernels in this build or CPU")
	}
	p := points{vectors: generate(gradients.Int8, 30, 1000, 127, 1)}
	m := middle{from: 9, to: 21, network: middleNetwork(30, 9, 21)}
	p.columns(m) // fills the pool
	// The numerators, the offsets, the positions and a few closures.
	require.LessOrEqual(t, testing.AllocsPerRun(50, func() { p.columns(m) }), 12.0)
}
