package model

import "gonum.org/v1/gonum/blas/gonum"

// kernels are gonum's float32 loops, which are assembly on amd64. Package model calls the kernels
// row by row, because for a product with only 10 columns the blocking of Sgemm costs more than it
// saves.
var kernels gonum.Implementation

// layer is an affine map, or without biases a linear map. The layer's parameters are contiguous in
// the flat vector: weights [out][in], then biases [out].
type layer struct {
	in, out int
	offset  int // offset of the first weight in the flat vector
	noBias  bool
}

func (l layer) bias(c int) int { return l.offset + l.in*l.out + c }

// size returns the number of parameters of the layer.
func (l layer) size() int {
	if l.noBias {
		return l.in * l.out
	}
	return (l.in + 1) * l.out
}

// squareNorm returns the squared norm of the layer's input: ‖x‖², plus 1 if the layer has biases,
// because a bias is the weight of a constant input 1.
func (l layer) squareNorm(x []float32) float64 {
	if l.noBias {
		return squareNorm(x)
	}
	return squareNorm(x) + 1
}

// row returns the weights of unit c.
func (l layer) row(params []float32, c int) []float32 {
	return params[l.offset+c*l.in : l.offset+(c+1)*l.in]
}

// forward sets dst[c] = b[c] + Σ W[c][j]*x[j].
func (l layer) forward(dst, params, x []float32) {
	for c := range dst {
		dst[c] = kernels.Sdot(l.in, l.row(params, c), 1, x, 1)
		if !l.noBias {
			dst[c] += params[l.bias(c)]
		}
	}
}

// backward sets dst[j] = Σ delta[c]*W[c][j]: the deltas of the layer below before their
// multiplication by the derivative of that layer's activation.
func (l layer) backward(dst, params, delta []float32) {
	clear(dst)
	for c, v := range delta {
		kernels.Saxpy(l.in, v, l.row(params, c), 1, dst, 1)
	}
}

// accumulate adds the layer's gradient to sum: delta ⊗ (x, 1), or delta ⊗ x without biases.
func (l layer) accumulate(sum, delta, x []float32) {
	for c, v := range delta {
		if !l.noBias {
			sum[l.bias(c)] += v
		}
		kernels.Saxpy(l.in, v, x, 1, l.row(sum, c), 1)
	}
}

// squareNorm returns ‖v‖², accumulated in float64.
func squareNorm(v []float32) float64 { return kernels.Dsdot(len(v), v, 1, v, 1) }
