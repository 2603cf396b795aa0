package contribution

import (
	"math"
	"math/big"

	"github.com/spdl/spdl/gradients"
)

// ridge is the strength of the pull towards equal weights, as a share of the mean squared norm of a gradient. It
// matters only for weights that the gradients do not determine, for example if two participants sent the same gradient.
const ridge = 1e-6

// weights returns weights w with which the sum of w[i] vectors[i] is closest to Delta. Among
// equally close ones, it returns those closest to equal weights. For a rule that averages some of
// the gradients, each of these has the weight 1 over their number, and the others have 0. For a
// rule that works by coordinates, a weight is the share of a gradient over all coordinates.
func weights(vectors []gradients.Vector, delta gradients.Fraction) []float64 {
	n := len(vectors)
	gram, right, trace := make([][]float64, n), make([]float64, n), 0.0
	for i, v := range vectors {
		gram[i] = make([]float64, n)
		for j := range i + 1 {
			gram[i][j] = float64(gradients.Dot(v, vectors[j])) // below 2^49: exact
		}
		trace += gram[i][i]
		right[i], _ = new(big.Rat).SetFrac(delta.Dot(v), big.NewInt(delta.Den)).Float64()
	}
	equal := 1 / float64(n)
	if trace == 0 {
		for i := range right {
			right[i] = equal
		}
		return right
	}
	pull := float64(ridge * float64(trace*equal))
	for i := range n {
		gram[i][i] += pull
		right[i] += float64(pull * equal)
	}
	solve(gram, right)
	return right
}

// solve replaces x by the solution of the system with a symmetric positive definite matrix, by Cholesky's method in a
// fixed order. The lower triangle a holds the matrix, and solve overwrites it.
func solve(a [][]float64, x []float64) {
	n := len(x)
	for i := range n {
		for j := range i + 1 {
			sum := a[i][j]
			for k := range j {
				sum -= float64(a[i][k] * a[j][k])
			}
			if i == j {
				a[i][i] = math.Sqrt(sum)
			} else {
				a[i][j] = sum / a[j][j]
			}
		}
		for k := range i {
			x[i] -= float64(a[i][k] * x[k])
		}
		x[i] /= a[i][i]
	}
	for i := n - 1; i >= 0; i-- {
		for k := i + 1; k < n; k++ {
			x[i] -= float64(a[k][i] * x[k])
		}
		x[i] /= a[i][i]
	}
}
