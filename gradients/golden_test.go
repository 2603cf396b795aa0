package gradients

import (
	"crypto/sha256"
	_ "embed"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// golden.txt pins results to the bit. It is embedded, so that a cross-compiled test binary checks
// itself in any directory, under qemu-user too. See the note at its head for how it was made.
//
//go:embed testdata/golden.txt
var golden string

func TestGolden(t *testing.T) {
	t.Logf("kernel: %s", Kernel(Int8))
	var got strings.Builder
	for _, w := range []Width{Int8, Int16} {
		for _, shape := range [][2]int{{1, 1}, {4, 1970}, {7, 333}, {10, 7850}, {23, 2049}} {
			n, d := shape[0], shape[1]
			vs := generate(w, n, d, uint64(n)<<32|uint64(d))
			mean := Mean(vs)
			line := func(what string, write func(put func(int64))) {
				fmt.Fprintf(&got, "%s/width=%v/n=%d/d=%d %s\n", what, w, n, d, hashOf(write))
			}
			line("payload", func(put func(int64)) {
				for _, v := range vs {
					for _, b := range v.Encode() {
						put(int64(b))
					}
				}
			})
			line("distances", func(put func(int64)) {
				distances := Pairwise(vs)
				require.Equal(t, distances, pairwise(vs, twinKernel, 1))
				for i := range n {
					for _, q := range distances.Row(i) {
						put(q)
					}
				}
			})
			line("dots", func(put func(int64)) {
				for _, v := range vs {
					put(Dot(vs[0], v))
					put(v.SquaredNorm())
					put(SquaredDistance(vs[0], v))
					put(int64(mean.Dot(v).Sign()))
				}
			})
			line("mean", func(put func(int64)) {
				for _, num := range mean.Num {
					put(num)
				}
			})
			line("quantised", func(put func(int64)) {
				// 53-bit integers times a power of two are exact floats; the step is not a power of
				// two.
				r := splitmix64(uint64(d))
				src := make([]float64, d)
				for k := range src {
					src[k] = float64(int64(r.next())>>11) / (1 << 52) * 40
				}
				q := NewVector(w, d)
				put(int64(Grid{Width: w, Step: 0.3 / float64(w)}.Quantize(q, src)))
				for k := range d {
					put(q.At(k))
				}
			})
		}
	}
	require.Equal(t, withoutComments(golden), got.String())
}

// hashOf returns the hash of the numbers that write puts.
func hashOf(write func(put func(int64))) string {
	h := sha256.New()
	write(func(x int64) { h.Write(binary.LittleEndian.AppendUint64(nil, uint64(x))) })
	return hex.EncodeToString(h.Sum(nil))
}

func withoutComments(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		if !strings.HasPrefix(line, "#") {
			b.WriteString(line)
		}
	}
	return b.String()
}
