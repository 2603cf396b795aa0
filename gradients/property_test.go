package gradients

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// vectors draws 1 to 12 vectors of one shape.
func vectors(t *rapid.T) []Vector {
	w := rapid.SampledFrom([]Width{Int8, Int16}).Draw(t, "width")
	d := rapid.IntRange(0, 90).Draw(t, "d")
	n := rapid.IntRange(1, 12).Draw(t, "n")
	coordinate := rapid.OneOf(
		rapid.Int64Range(-w.Max(), w.Max()),
		rapid.SampledFrom([]int64{-w.Max(), 0, w.Max()}),
	)
	vs := make([]Vector, n)
	for i := range vs {
		vs[i] = NewVector(w, d)
		for k, q := range rapid.SliceOfN(coordinate, d, d).Draw(t, "coordinates") {
			vs[i].Set(k, q)
		}
	}
	return vs
}

func TestLawsOfDistances(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		vs := vectors(t)
		d := Pairwise(vs)
		require.Equal(t, pairwise(vs, twinKernel, 1), d, "assembly and twin agree")
		for i, a := range vs {
			require.Zero(t, d.At(i, i))
			for j, b := range vs {
				require.Equal(t, d.At(i, j), d.At(j, i), "symmetric")
				require.Equal(t, SquaredDistance(a, b), d.At(i, j))
				require.Equal(t, a.SquaredNorm()+b.SquaredNorm()-2*Dot(a, b), d.At(i, j), "polarisation")
				require.Equal(t, a.Equal(b), d.At(i, j) == 0, "zero only for equal vectors")
				require.LessOrEqual(t, magnitude(2*Dot(a, b)), uint64(a.SquaredNorm()+b.SquaredNorm()), "Cauchy-Schwarz")
			}
		}
	})
}

func TestLawsOfMeans(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		vs := vectors(t)
		f := Mean(vs)
		decoded, err := DecodeFraction(vs[0].Width(), vs[0].Len(), int64(len(vs)), f.Encode())
		require.NoError(t, err, "a mean is inside the range of its inputs")
		require.Equal(t, f, decoded)
		var sum int64
		for _, v := range vs {
			sum += Dot(v, vs[0])
		}
		sign := 0
		if sum != 0 {
			sign = int(sum / max(sum, -sum))
		}
		require.Equal(t, sign, f.Dot(vs[0]).Sign(), "the dot product with a mean is the mean of dot products")
	})
}

func TestLawsOfTheCodec(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		for _, v := range vectors(t) {
			payload := v.Encode()
			require.Len(t, payload, v.Len()*int(v.Width()))
			back, err := Decode(v.Width(), v.Len(), payload)
			require.NoError(t, err)
			require.True(t, v.Equal(back))
			clear(payload)
			require.True(t, v.Equal(back), "no shared memory")
		}
	})
}

// Whatever the float, the grid point is the nearest in range, and a grid point survives
// quantisation.
func TestLawsOfQuantisation(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		g := Grid{
			Width: rapid.SampledFrom([]Width{Int8, Int16}).Draw(t, "width"),
			// Powers of two: x/Step is exact.
			Step: rapid.SampledFrom([]float64{1, 0.5, 1.0 / 1024, 8}).Draw(t, "step"),
		}
		x := rapid.Float64().Draw(t, "x")
		v := NewVector(g.Width, 1)
		saturated := g.Quantize(v, []float64{x})
		limit := float64(g.Width.Max()) * g.Step
		if saturated == 0 {
			require.LessOrEqual(t, max(x, -x), limit+g.Step/2)
			require.LessOrEqual(t, max(float64(v.At(0))*g.Step-x, x-float64(v.At(0))*g.Step), g.Step/2)
		} else {
			require.Greater(t, max(x, -x), limit)
			require.Equal(t, g.Width.Max(), max(v.At(0), -v.At(0)))
		}
		again := NewVector(g.Width, 1)
		require.Zero(t, g.Quantize(again, []float64{float64(v.At(0)) * g.Step}))
		require.True(t, v.Equal(again))
	})
}
