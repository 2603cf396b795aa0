package rules

import (
	"crypto/sha256"
	_ "embed"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/gradients"
)

// golden.txt pins aggregates to the bit. It is embedded, so that a cross-compiled test binary
// checks itself in any directory, under qemu-user too. It was written by testdata/golden.py, which
// shares no code with this package.
//
//go:embed testdata/golden.txt
var golden string

func TestGolden(t *testing.T) {
	var got strings.Builder
	for _, name := range Names() {
		if !strings.Contains(golden, "\nrule="+name+"/") {
			t.Fatalf("golden.txt has no %s: add the rule to testdata/golden.py, from its definition, and there: python3 "+
				"golden.py > golden.txt", name)
		}
		for _, c := range []struct{ n, included, d, f, spread int }{
			{4, 4, 1970, 1, 127}, {7, 6, 333, 2, 3}, {10, 10, 1200, 3, 16383}, {14, 12, 2, 3, 1},
		} {
			w := gradients.Int8
			if c.spread > 127 {
				w = gradients.Int16
			}
			vs := generate(w, c.included, c.d, c.spread, uint64(c.n)<<32|uint64(c.d))
			for _, unsquared := range []bool{false, true} {
				for _, floor := range []int64{0, gradients.SquaredDistance(vs[0], vs[1])} {
					out, err := lookup(t, name).Aggregate(Input{
						N: c.n, F: c.f, Vectors: vs, Unsquared: unsquared, Floor: floor, Seed: []byte{byte(c.n)},
					})
					result := "refused"
					if !errors.Is(err, ErrInfeasible) && !errors.Is(err, ErrTooFew) {
						require.NoError(t, err)
						result = digest(out)
					}
					fmt.Fprintf(&got, "rule=%s/n=%d/included=%d/d=%d/f=%d/unsquared=%t/floor=%d %s\n",
						name, c.n, c.included, c.d, c.f, unsquared, floor, result)
				}
			}
		}
	}
	_, want, _ := strings.Cut(golden, "\n") // the first line is a note
	require.Equal(t, want, got.String())
}

func digest(out Output) string {
	h := sha256.New()
	put := func(x int64) { h.Write(binary.LittleEndian.AppendUint64(nil, uint64(x))) }
	for _, num := range out.Delta.Num {
		put(num)
	}
	put(out.Delta.Den)
	for _, i := range out.Selected {
		put(int64(i))
	}
	for _, s := range out.Score {
		put(s)
	}
	for _, near := range out.Neighbours {
		for _, j := range near {
			put(int64(j))
		}
	}
	put(out.Margin)
	return hex.EncodeToString(h.Sum(nil))
}
