package main

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"gonum.org/v1/gonum/mat"
)

// The signs of eigenvectors are a choice: that of the recipe.
func TestSign(t *testing.T) {
	assert.Negative(t, sign([]float64{1, -3, 2}))
	assert.Positive(t, sign([]float64{1, 3, -3}))
}

// fit finds the directions in which glyphs differ more than their variants do: here the first of
// three.
func TestFitPrefersWhatGlyphsDifferIn(t *testing.T) {
	r := mat.NewDense(6, 3, []float64{
		9, 1, 0, 9, -1, 0, 9, 0, 0,
		3, 1, 0, 3, -1, 0, 3, 0, 0,
	})
	mean, transposed, err := fit(r, 1)
	require.NoError(t, err)
	assert.Equal(t, []float64{6, 0, 0}, mean)
	assert.Positive(t, transposed.At(0, 0))
	assert.InDelta(t, 0, transposed.At(0, 1), 1e-12)
	assert.InDelta(t, 0, transposed.At(0, 2), 1e-12)
}

// A direction of variance v has variance v/(v+ridge) after it was whitened.
func TestWhitenTakesCorrelationsAndScalesAway(t *testing.T) {
	r := mat.NewDense(4, 2, []float64{2, 1, 2, -1, -2, 1, -2, -1})
	mean, transposed, err := Whiten(mat.DenseCopyOf(r))
	require.NoError(t, err)
	assert.Equal(t, []float64{0, 0}, mean)
	var x mat.Dense
	x.Mul(r, transposed.T())
	// Variances are 16/3 and 4/3, their mean 10/3, the ridge 2/3.
	assert.InDelta(t, 16.0/18, mat.Dot(x.ColView(0), x.ColView(0))/3, 1e-12)
	assert.InDelta(t, 4.0/6, mat.Dot(x.ColView(1), x.ColView(1))/3, 1e-12)
	assert.InDelta(t, 0, mat.Dot(x.ColView(0), x.ColView(1)), 1e-12)
}

// Whiten returns the mean mu of the rows of r and W, transposed, with which x = Wᵀ(r-mu) has about
// unit variance in each direction: the map of the recipe if it did not know which rows are variants
// of one glyph, and kept all directions. The rows of r are overwritten.
//
// With S_t the covariance of all rows, L Lᵀ = S_t + 0.2 (tr S_t / 512) I and W = L⁻ᵀ.
func Whiten(r *mat.Dense) (mean []float64, transposed *mat.Dense, err error) {
	rows, dim := r.Dims()
	mean = centre(r, 0, rows)
	var total mat.SymDense
	total.SymOuterK(1/float64(rows-1), r.T())
	lower, err := factor(&total)
	if err != nil {
		return nil, nil, err
	}
	transposed = mat.NewDense(dim, dim, nil)
	identity := mat.NewDiagDense(dim, slices.Repeat([]float64{1}, dim))
	return mean, transposed, transposed.Solve(lower, identity)
}
