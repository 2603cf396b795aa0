package main

import (
	"errors"
	"math"

	"gonum.org/v1/gonum/mat"

	"github.com/spdl/spdl/mnist/features"
)

// ridge is the share of the mean variance that is added to every variance, so that directions that
// hardly vary are not amplified.
const ridge = 0.2

// sample returns the block features of glyphs 0 to n-1, a row of features.Blocks values for each of
// their three variants.
func sample(n int) (*mat.Dense, error) {
	m, err := features.New(side)
	if err != nil {
		return nil, err
	}
	r := mat.NewDense(n*variants, features.Blocks, nil)
	block := make([]float32, features.Blocks)
	for i := range n {
		for v, image := range glyph(i) {
			m.Block(block, image)
			row := r.RawRowView(i*variants + v)
			for j, value := range block {
				row[j] = float64(value)
			}
		}
	}
	return r, nil
}

// fit solves the eigenproblem of the recipe for the rows of r, which sample makes: it returns the
// mean mu, and M as columns x Blocks, transposed. Every eigenvector's entry of largest magnitude,
// the first on ties, is positive. The rows of r are overwritten.
//
// With S_t the covariance of all rows and S_w that of the variants about their glyph's mean,
//
//	L Lᵀ = S_w + 0.2 (tr S_w / 512) I,   U = the leading eigenvectors of L⁻¹ S_t L⁻ᵀ,   M = L⁻ᵀ U.
func fit(r *mat.Dense, columns int) (mean []float64, transposed *mat.Dense, err error) {
	rows, dim := r.Dims()
	mean = centre(r, 0, rows)
	var total, within mat.SymDense
	total.SymOuterK(1/float64(rows-1), r.T())
	for from := 0; from < rows; from += variants {
		centre(r, from, from+variants)
	}
	within.SymOuterK(1/float64(rows-rows/variants), r.T())
	lower, err := factor(&within)
	if err != nil {
		return nil, nil, err
	}
	var half, full mat.Dense
	if err := errors.Join(half.Solve(lower, &total), full.Solve(lower, half.T())); err != nil {
		return nil, nil, err
	}
	white := mat.NewSymDense(dim, nil)
	for i := range dim {
		for j := range i + 1 {
			white.SetSym(i, j, (full.At(i, j)+full.At(j, i))/2)
		}
	}
	var eigen mat.EigenSym
	if !eigen.Factorize(white, true) {
		return nil, nil, errors.New("the eigenproblem did not converge")
	}
	var vectors, directions mat.Dense
	eigen.VectorsTo(&vectors) // in ascending order of the eigenvalues
	if err := directions.Solve(lower.T(), &vectors); err != nil {
		return nil, nil, err
	}
	transposed = mat.NewDense(columns, dim, nil)
	for k := range columns {
		row := mat.Col(transposed.RawRowView(k), dim-1-k, &directions)
		if sign(mat.Col(nil, dim-1-k, &vectors)) < 0 {
			for j := range row {
				row[j] = -row[j]
			}
		}
	}
	return mean, transposed, nil
}

// factor adds the ridge to a covariance and returns its Cholesky factor.
func factor(s *mat.SymDense) (*mat.TriDense, error) {
	dim := s.SymmetricDim()
	added := ridge * s.Trace() / float64(dim)
	for i := range dim {
		s.SetSym(i, i, s.At(i, i)+added)
	}
	var chol mat.Cholesky
	if !chol.Factorize(s) {
		return nil, errors.New("the covariance is not positive definite")
	}
	var lower mat.TriDense
	chol.LTo(&lower)
	return &lower, nil
}

// centre subtracts from rows [from, to) their mean, which it returns.
func centre(r *mat.Dense, from, to int) []float64 {
	_, dim := r.Dims()
	mean := make([]float64, dim)
	for i := from; i < to; i++ {
		for j, v := range r.RawRowView(i) {
			mean[j] += v
		}
	}
	for j := range mean {
		mean[j] /= float64(to - from)
	}
	for i := from; i < to; i++ {
		row := r.RawRowView(i)
		for j := range row {
			row[j] -= mean[j]
		}
	}
	return mean
}

// sign returns the sign of the entry of largest magnitude, the first on ties.
func sign(v []float64) float64 {
	best := 0
	for i := range v {
		if math.Abs(v[i]) > math.Abs(v[best]) {
			best = i
		}
	}
	return v[best]
}
