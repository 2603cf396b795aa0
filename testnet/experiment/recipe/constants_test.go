package main

import (
	"bytes"
	"encoding/binary"
	"math"
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"

	"github.com/spdl/spdl/internal/stage"
	"github.com/spdl/spdl/mnist/features"
)

// decode is the inverse of encode, in the order of the embedded file.
func decode(t *testing.T, file []byte) (mean []float64, scale float64, transposed *mat.Dense) {
	t.Helper()
	require.Len(t, file, 4*features.Blocks+4+features.Inputs*features.Blocks)
	number := func(i int) float64 { return float64(math.Float32frombits(binary.LittleEndian.Uint32(file[4*i:]))) }
	for i := range features.Blocks {
		mean = append(mean, number(i))
	}
	scale = number(features.Blocks)
	transposed = mat.NewDense(features.Inputs, features.Blocks, nil)
	for i, entry := range file[4*features.Blocks+4:] {
		transposed.RawMatrix().Data[i] = scale * float64(int8(entry))
	}
	return mean, scale, transposed
}

// gram is M Mᵀ.
func gram(transposed *mat.Dense) *mat.SymDense {
	var g mat.SymDense
	g.SymOuterK(1, transposed.T())
	return &g
}

// spectral returns the largest singular value.
func spectral(t *testing.T, m mat.Matrix) float64 {
	t.Helper()
	var svd mat.SVD
	require.True(t, svd.Factorize(m, mat.SVDNone))
	return svd.Values(nil)[0]
}

// apart returns the Frobenius norm of the difference of M Mᵀ.
func apart(a, b *mat.Dense) float64 {
	var d mat.Dense
	d.Sub(gram(a), gram(b))
	return mat.Norm(&d, 2)
}

// A model sees images through inner products xᵀx' = (r-mu)ᵀ M Mᵀ (r'-mu) alone: turning the 160
// directions, as rounding does where eigenvalues are close, turns the weights with them, from a
// start at zero and under noise that is alike in all directions. So M Mᵀ is compared, which neither
// signs nor turns change. Rounding makes of M a Q that is off by at most half a scale in each
// entry, so that with E = Q-M
//
//	‖QQᵀ - MMᵀ‖ = ‖QEᵀ + EMᵀ‖ <= (‖Q‖₂ + ‖M‖₂) ‖E‖ <= (‖Q‖₂ + ‖M‖₂) √(512*160) scale/2
//
// in Frobenius norms, and spectral ones where it says 2. The typical error is a fourth of that: the
// rest is left to machines that round floats otherwise. Constants made of half as many glyphs are
// outside.
func TestConstantsAreTheRecipes(t *testing.T) {
	stage.OnlyLong(t) // draws 18,000 images and solves for 512 directions, twice: 12 s
	file, err := os.ReadFile("../../../mnist/features/constants.bin")
	require.NoError(t, err)
	mean, scale, embedded := decode(t, file)
	r, err := sample(glyphs)
	require.NoError(t, err)
	made, transposed, err := fit(r, features.Inputs)
	require.NoError(t, err)
	for i := range mean {
		assert.InDelta(t, made[i], mean[i], 1e-6, "mean %d: float32 rounds it, and the responses behind it, by 3e-8", i)
	}
	bound := (spectral(t, embedded) + spectral(t, transposed)) * math.Sqrt(features.Blocks*features.Inputs) * scale / 2
	assert.Less(t, apart(embedded, transposed), bound)

	half, err := sample(glyphs / 2)
	require.NoError(t, err)
	_, other, err := fit(half, features.Inputs)
	require.NoError(t, err)
	assert.Greater(t, apart(embedded, other), bound)
	t.Logf("apart %.0f, bound %.0f, half the glyphs %.0f, of %.0f; repeated to the byte: %v",
		apart(embedded, transposed), bound, apart(embedded, other), mat.Norm(gram(embedded), 2),
		bytes.Equal(file, encode(made, transposed)))
}

func TestEncode(t *testing.T) {
	transposed := mat.NewDense(features.Inputs, features.Blocks, nil)
	transposed.Set(0, 0, -254)
	transposed.Set(1, 2, 3)
	mean := make([]float64, features.Blocks)
	mean[5] = 0.25
	gotMean, scale, got := decode(t, encode(mean, transposed))
	assert.Equal(t, mean, gotMean)
	assert.Equal(t, 2.0, scale)
	assert.Equal(t, -254.0, got.At(0, 0))
	assert.Equal(t, 4.0, got.At(1, 2), "rounded to multiples of 2")
}
