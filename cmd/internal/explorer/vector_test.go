package explorer

import (
	"math"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/gradients"
)

// vectorWith returns an int8 vector.
func vectorWith(x ...int64) gradients.Vector {
	v := gradients.NewVector(gradients.Int8, len(x))
	for i, q := range x {
		v.Set(i, q)
	}
	return v
}

// TestHistogram: each coordinate is in one bar whose range holds it, the ends of the range and 0 are
// counted, and the norm is Euclid's.
func TestHistogram(t *testing.T) {
	for most := range int64(128) {
		var all []int64
		squares := 0.0
		for q := -most; q <= most; q++ {
			all, squares = append(all, q), squares+float64(q*q)
		}
		h := histogram(vectorWith(all...))
		require.Equal(t, len(all), h.Coordinates)
		require.Equal(t, 1, h.Zero)
		require.Equal(t, most == 127, h.Ends == 2)
		n, width := 0, 0.0
		for i, b := range h.Bars {
			n, width = n+b.Count, width+b.Width
			if most > 0 {
				require.EqualValues(t, b.Until-b.From+1, b.Count, "bar %d of %d", i, most)
			}
			require.InDelta(t, 100, b.Y+b.Height, 1e-9)
		}
		require.Equal(t, len(all), n)
		require.InDelta(t, pictured, width, 1e-9)
		require.LessOrEqual(t, len(h.Bars), 2*bins+1)
		require.InDelta(t, math.Sqrt(squares), h.Steps, 1e-9)
	}
}

// TestTransactionSays: whose it is, when, and what it says in words; its bytes are folded.
func TestTransactionSays(t *testing.T) {
	s := over(t, newFake(6, "node"), Options{})
	w := get(s, "/tx/aa"+strings.Repeat("0", 62))
	require.Equal(t, http.StatusOK, w.Code)
	page := w.Body.String()
	for _, text := range []string{"Transaction: join", "✕ code 2", `<time datetime="1970-01-01T00:00:03Z"`,
		"<details><summary>", "Signed hash"} {
		require.Contains(t, page, text)
	}
}

// TestGradientSays: how long it is, where it points, and in what round it is.
func TestGradientSays(t *testing.T) {
	s := over(t, newFake(6, "node"), Options{})
	w := get(s, "/tx/bb"+strings.Repeat("0", 62))
	require.Equal(t, http.StatusOK, w.Code)
	page := w.Body.String()
	for _, text := range []string{`<a href="/round/0/4">0/4</a>`, "<bdi>node</bdi> (#3)", "89.8 <small>180 grid steps",
		"13 are 0, 2 at the ends of the range", "Histogram of 15 coordinates"} {
		require.Contains(t, page, text)
	}
}
