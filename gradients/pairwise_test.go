package gradients

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// kernels returns what this build and CPU can run on vectors of width w.
func kernels(w Width) map[string]kernel {
	k := map[string]kernel{"twin": twinKernel}
	if haveAVX2 {
		k["avx2"] = avx2Kernel
	}
	if haveGramVEX && w == Int8 {
		k["avx-vnni"] = vexKernel
	}
	if haveGram && w == Int8 {
		k["gram"] = gramKernel
	}
	return k
}

// requirePairwise checks every kernel, serial and shared, against want.
func requirePairwise(t *testing.T, vs []Vector, want func(a, b Vector) int64) {
	t.Helper()
	ref := DistancesOf(len(vs), func(i, j int) int64 { return want(vs[i], vs[j]) })
	w := Int16
	if len(vs) > 0 {
		w = vs[0].Width()
	}
	for name, k := range kernels(w) {
		for _, workers := range []int{1, 3} {
			got := pairwise(vs, k, workers)
			require.Equal(t, ref, got, "%s, %d workers, n=%d", name, workers, len(vs))
		}
	}
}

// adversarial fills n vectors with the pattern that is worst for one of the bounds in doc.go.
var adversarial = map[string]func(m int64, i, k int) int64{
	"zero":        func(int64, int, int) int64 { return 0 },
	"all max":     func(m int64, _, _ int) int64 { return m },
	"all -max":    func(m int64, _, _ int) int64 { return -m },
	"opposed":     func(m int64, i, _ int) int64 { return m - 2*m*int64(i%2) }, // 2 Max apart
	"thirds":      func(m int64, i, _ int) int64 { return m - m*int64(i%3) },
	"alternating": func(m int64, i, k int) int64 { return m - 2*m*int64((i+k)%2) },
	"ramp":        func(m int64, i, k int) int64 { return int64(i+3*k)%(2*m+1) - m },
	"one spike": func(m int64, i, k int) int64 {
		if i == k {
			return m
		}
		return -m
	},
}

func fill(w Width, n, d int, at func(m int64, i, k int) int64) []Vector {
	vs := make([]Vector, n)
	for i := range vs {
		vs[i] = NewVector(w, d)
		for k := range d {
			vs[i].Set(k, at(w.Max(), i, k))
		}
	}
	return vs
}

func TestPairwiseMatchesBigIntegersOnSmallShapes(t *testing.T) {
	big := func(a, b Vector) int64 { return refSquaredDistance(a, b).Int64() }
	for _, w := range []Width{Int8, Int16} {
		for n := range 11 {
			for d := range 71 {
				if n > 5 && d%7 != 0 && d < 60 {
					continue // all d for few rows, all n for some d
				}
				requirePairwise(t, generate(w, n, d, uint64(n*1000+d)), big)
			}
		}
	}
}

func TestPairwiseMatchesBigIntegersOnExtremes(t *testing.T) {
	big := func(a, b Vector) int64 { return refSquaredDistance(a, b).Int64() }
	for name, at := range adversarial {
		for _, w := range []Width{Int8, Int16} {
			for _, d := range []int{1, 15, 16, 17, 31, 32, 33, 63, 64, 65, 127, 129, 255, 256, 257} {
				t.Run(fmt.Sprintf("%s/%v/d=%d", name, w, d), func(t *testing.T) {
					requirePairwise(t, fill(w, 7, d, at), big)
				})
			}
		}
	}
}

// Every length up to 200 has another tail, and windows of one array lie at every alignment.
func TestPairwiseAtEveryLengthAndAlignment(t *testing.T) {
	for d := range 201 {
		for _, w := range []Width{Int8, Int16} {
			long := generate(w, 6, d+64, uint64(d))
			vs := make([]Vector, len(long))
			for i, v := range long {
				if from := (7*i + d) % 64; w == Int8 {
					vs[i] = FromInt8(v.i8[from : from+d])
				} else {
					vs[i] = FromInt16(v.i16[from : from+d])
				}
			}
			requirePairwise(t, vs, naiveSquaredDistance)
		}
	}
}

// FuzzPairwise takes the coordinates from a payload, which is repeated for long vectors.
func FuzzPairwise(f *testing.F) {
	f.Add([]byte{127, 129, 0, 1, 255}, false, uint8(4), uint8(0))
	f.Add([]byte{255, 63, 1, 192, 0, 0}, true, uint8(2), uint8(90))
	f.Fuzz(func(t *testing.T, payload []byte, wide bool, rows, times uint8) {
		w, n := Int8, 1+int(rows)%16
		if wide {
			w = Int16
		}
		payload = append(payload, 0)
		d := (1 + len(payload)/n%100) * (1 + int(times))
		requirePairwise(t, fill(w, n, d, func(m int64, i, k int) int64 {
			at := (i*d + k) * int(w)
			q := int64(int8(payload[at%len(payload)]))
			if wide {
				q = q<<8 | int64(payload[(at+1)%len(payload)])
			}
			return min(max(q, -m), m)
		}), naiveSquaredDistance)
	})
}

// The lanes of a kernel fill up over a whole chunk, so extremes must be tried across several chunks
// as well.
func TestPairwiseAcrossChunks(t *testing.T) {
	for _, w := range []Width{Int8, Int16} {
		for _, d := range []int{chunk - 1, chunk, chunk + 1, 2*chunk - 1, 2*chunk + 17, 3 * chunk, 4*chunk + 65} {
			requirePairwise(t, generate(w, 8, d, uint64(d)), naiveSquaredDistance)
			requirePairwise(t, fill(w, 5, d, adversarial["opposed"]), naiveSquaredDistance)
			requirePairwise(t, fill(w, 4, d, adversarial["alternating"]), naiveSquaredDistance)
			requirePairwise(t, fill(w, 4, d, adversarial["all max"]), naiveSquaredDistance)
		}
	}
}

func TestPairwiseManyRows(t *testing.T) {
	for _, w := range []Width{Int8, Int16} {
		for _, n := range []int{24, 25, 26, 29, 30, 31, 100} {
			requirePairwise(t, generate(w, n, 2100, uint64(n)), naiveSquaredDistance)
		}
		for _, n := range []int{tileRows, tileRows + 1, tileRows + 2, 2*tileRows + 4} { // several tiles
			requirePairwise(t, generate(w, n, chunk+70, uint64(n)), SquaredDistance)
		}
	}
}

// Every pair is in one tile, and every tile holds pairs.
func TestTilesCoverAllPairs(t *testing.T) {
	for _, n := range []int{1, 2, tileRows - 1, tileRows, tileRows + 1, 3 * tileRows, MaxParticipants} {
		seen := map[[2]int]bool{}
		for tile := range tiles(n) {
			top, left := tileAt(n, tile)
			require.False(t, seen[[2]int{top, left}])
			require.True(t, top%tileRows == 0 && left%tileRows == 0 && top <= left && left < n)
			seen[[2]int{top, left}] = true
		}
		ranges := (n + tileRows - 1) / tileRows
		require.Len(t, seen, ranges*(ranges+1)/2)
	}
}

// The largest distance that the package admits, MaxDim coordinates that are all 2*Max apart.
func TestPairwiseLargestDistance(t *testing.T) {
	vs := fill(Int16, 2, MaxDim, adversarial["opposed"])
	for _, k := range kernels(Int16) {
		require.Equal(t, MaxSquaredDistance, pairwise(vs, k, 2).At(0, 1))
	}
	require.Equal(t, MaxSquaredDistance, SquaredDistance(vs[0], vs[1]))
	require.Less(t, MaxSquaredDistance, int64(1)<<51)
}

// Rows are windows of one array whose neighbours hold other values: a kernel that read past a row
// would show here.
func TestPairwiseReadsNothingBeyondItsRows(t *testing.T) {
	for n := 2; n <= 7; n++ {
		for d := 1; d <= 70; d++ {
			backing := make([]int8, n*(d+64)+64)
			for i := range backing {
				backing[i] = int8(i%255 - 127)
			}
			vs, clean := make([]Vector, n), make([]Vector, n)
			for i := range vs {
				off := 33 + i*(d+64)
				vs[i] = FromInt8(backing[off : off+d : off+d])
				clean[i] = FromInt8(append(make([]int8, 0, d), backing[off:off+d]...))
			}
			for name, k := range kernels(Int8) {
				require.Equal(t, pairwise(clean, twinKernel, 1), pairwise(vs, k, 1), "%s n=%d d=%d", name, n, d)
			}
		}
	}
}

func TestPairwiseDoesNotDependOnGOMAXPROCS(t *testing.T) {
	vs := generate(Int8, 30, 40000, 5)
	want := pairwise(vs, twinKernel, 1)
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(0))
	for _, procs := range []int{1, 2, 7} {
		runtime.GOMAXPROCS(procs)
		require.Equal(t, want, Pairwise(vs))
	}
}

func TestPairwiseAllocatesOnlyItsResult(t *testing.T) {
	for name, k := range kernels(Int8) {
		vs := generate(Int8, 10, 5000, 1)
		pairwise(vs, k, 1) // fills the pool
		allocs := testing.AllocsPerRun(50, func() { pairwise(vs, k, 1) })
		// The matrix and its header. A collection may empty the pool in between, and under the race
		// detector the pool forgets a quarter of what it is given; without a pool there would be
		// six.
		require.LessOrEqual(t, allocs, 4.0, name)
	}
}

func TestPairwiseRefusesMixedShapes(t *testing.T) {
	require.Panics(t, func() { Pairwise([]Vector{NewVector(Int8, 3), NewVector(Int8, 4)}) })
	require.Panics(t, func() { Pairwise([]Vector{NewVector(Int8, 3), NewVector(Int16, 3)}) })
	require.Panics(t, func() { Pairwise([]Vector{{}, {}}) })
	require.Panics(t, func() { Pairwise(make([]Vector, MaxParticipants+1)) })
	require.Equal(t, 0, Pairwise(nil).Len())
	require.Equal(t, int64(0), Pairwise([]Vector{NewVector(Int8, 3)}).At(0, 0))
}

func TestDistancesOf(t *testing.T) {
	d := DistancesOf(3, func(i, j int) int64 { return int64(10*i + j) })
	require.Equal(t, []int64{1, 0, 12}, d.Row(1))
	require.Equal(t, int64(2), d.At(2, 0))
	require.Equal(t, 3, d.Len())
	require.Panics(t, func() { d.At(3, 0) })
	require.Panics(t, func() { d.At(0, 3) })
	require.Panics(t, func() { d.At(-1, 0) })
	require.Panics(t, func() { DistancesOf(2, func(int, int) int64 { return -1 }) })
	require.Panics(t, func() { DistancesOf(MaxParticipants+1, func(int, int) int64 { return 0 }) })
}
