package krum

import (
	"crypto/sha256"
	_ "embed"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/gradients"
)

// golden.txt pins selections to the bit. It is embedded, so that a cross-compiled test binary
// checks itself in any directory, under qemu-user too. It was written by testdata/golden.py, which
// shares no code with this package.
//
//go:embed testdata/golden.txt
var golden string

func TestGolden(t *testing.T) {
	var got strings.Builder
	for _, c := range []struct{ n, d, spread, f int }{
		{4, 1970, 127, 1}, {7, 500, 3, 2}, {10, 7850, 32, 3}, {12, 3, 1, 3}, {23, 333, 127, 7},
	} {
		d := gradients.Pairwise(generate(c.n, c.d, c.spread, uint64(c.n)<<32|uint64(c.d)))
		for _, unsquared := range []bool{false, true} {
			for _, floor := range []int64{0, d.At(0, 1)} {
				for _, m := range []int{1, c.n - c.f, c.n} {
					r, err := Select(d, m, Options{N: c.n, F: c.f, Unsquared: unsquared, Floor: floor})
					require.NoError(t, err)
					h := sha256.New()
					put := func(x int64) { h.Write(binary.LittleEndian.AppendUint64(nil, uint64(x))) }
					for _, i := range r.Selected {
						put(int64(i))
					}
					for _, s := range r.Score {
						put(s)
					}
					for _, near := range r.Neighbours {
						for _, j := range near {
							put(int64(j))
						}
					}
					put(r.Margin)
					fmt.Fprintf(&got, "n=%d/d=%d/f=%d/m=%d/unsquared=%t/floor=%d %s\n",
						c.n, c.d, c.f, m, unsquared, floor, hex.EncodeToString(h.Sum(nil)))
				}
			}
		}
	}
	_, want, _ := strings.Cut(golden, "\n") // the first line is a note
	require.Equal(t, want, got.String())
}
