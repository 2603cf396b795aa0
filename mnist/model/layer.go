package model

import "gonum.org/v1/gonum/blas/gonum"

// kernels are gonum's float32 loops, assembly on amd64. They are called row by row: a product with 10 columns is too thin
// for Sgemm, whose blocking costs more than it saves.
var kernels gonum.Implementation

// layer is an affine map with its place in the flat parameter vector: weights [out][in], then biases [out].
type layer struct {
	in, out int
	at      int // offset of the first weight
}

func (l layer) bias(c int) int { return l.at + l.in*l.out + c }

// row is the weights of unit c.
func (l layer) row(params []float32, c int) []float32 {
	return params[l.at+c*l.in : l.at+(c+1)*l.in]
}

// forward sets dst[c] = b[c] + Σ W[c][j]*x[j].
func (l layer) forward(dst, params, x []float32) {
	for c := range dst {
		dst[c] = params[l.bias(c)] + kernels.Sdot(l.in, l.row(params, c), 1, x, 1)
	}
}

// backward sets dst[j] = Σ delta[c]*W[c][j]: the deltas of the layer below, but for its activation.
func (l layer) backward(dst, params, delta []float32) {
	clear(dst)
	for c, v := range delta {
		kernels.Saxpy(l.in, v, l.row(params, c), 1, dst, 1)
	}
}

// accumulate adds the gradient delta ⊗ (x, 1) to sum.
func (l layer) accumulate(sum, delta, x []float32) {
	for c, v := range delta {
		sum[l.bias(c)] += v
		kernels.Saxpy(l.in, v, x, 1, l.row(sum, c), 1)
	}
}

// squareNorm is ‖v‖², accumulated in float64.
func squareNorm(v []float32) float64 { return kernels.Dsdot(len(v), v, 1, v, 1) }
