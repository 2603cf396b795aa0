//go:build (amd64 || arm64) && !noasm

package gradients

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// The kernels themselves, on rows at every alignment and on all bytes, -128 too, which no vector
// holds: a lane and the sum of all lanes hold a whole chunk of the largest products.
func TestGramKernelsOnAllBytesAndAlignments(t *testing.T) {
	r := splitmix64(1)
	patterns := map[string]func(i, k int) int8{
		"all -128":    func(int, int) int8 { return -128 },
		"all 127":     func(int, int) int8 { return 127 },
		"127 by -128": func(i, _ int) int8 { return int8(127 - 255*(i/gramRows)) },
		"alternating": func(i, k int) int8 { return int8(127 - 255*((i+k)%2)) },
		"random":      func(int, int) int8 { return int8(r.next()) },
	}
	for name, k := range kernels(Int8) {
		if !k.isGram() {
			continue
		}
		step := k.shape().step
		for pattern, at := range patterns {
			for _, steps := range []int{1, 2, 3, gramChunk / step} {
				for shift := range 4 {
					rows := make([][]int8, 2*gramRows)
					for i := range rows {
						from := 1 + shift*17 + i*5
						rows[i] = make([]int8, from+steps*step)[from:]
						for c := range rows[i] {
							rows[i][c] = at(i, c)
						}
					}
					requireGram(t, k, rows, steps, "%s, %s, %d steps", name, pattern, steps)
				}
			}
		}
	}
}

// requireGram checks the products and sums that kernel k makes of ten rows.
func requireGram(t *testing.T, k kernel, rows [][]int8, steps int, what ...any) {
	t.Helper()
	var (
		begin    [2 * gramRows]unsafe.Pointer
		out, sum [28]int32
		of       = k.shape()
	)
	for i, row := range rows {
		begin[i] = unsafe.Pointer(&row[0])
	}
	k.gram(&begin, 0, steps, &out)
	k.sums(&begin, 0, steps, &sum)
	for i := range of.left {
		var total int64
		for _, a := range rows[i] {
			total += int64(a)
		}
		if gramShift != 0 {
			require.Equal(t, total, int64(sum[i]), what...)
		}
		for j := range of.right {
			var want int64
			for c, a := range rows[i] {
				want += (int64(a) + gramShift) * int64(rows[gramRows+j][c])
			}
			require.Equal(t, want, int64(out[i*of.right+j]), what...)
		}
	}
}
