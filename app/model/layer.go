package model

import (
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

// kernels are gonum's loops, which are assembly on amd64. Package model calls the float32 kernels row
// by row, because for a product with only 10 columns the blocking of Sgemm costs more than it saves.
var kernels gonum.Implementation

// blockRows is the number of rows that a layer's gradient takes at a time: gonum's kernel reads and writes the float64
// sum once for four rows, which costs about what once a row costs in float32. More rows fit no better into the caches.
const blockRows = 4

// layer is an affine map, or without biases a linear map. The layer's parameters are contiguous in
// the flat vector: weights [out][in], then biases [out].
type layer struct {
	in, out int
	offset  int // offset of the first weight in the flat vector
	noBias  bool

	x, deltas []float64 // of the rows that are not in the sum yet, row-major
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

// accumulate adds a row's gradient, factor*delta ⊗ (x, 1), or factor*delta ⊗ x without biases. It
// is in sum after the next flush at the latest.
func (l *layer) accumulate(sum []float64, factor float64, delta, x []float32) {
	l.deltas, l.x = appendScaled(l.deltas, factor, delta), appendScaled(l.x, 1, x)
	if len(l.deltas) == blockRows*l.out {
		l.flush(sum)
	}
}

func appendScaled(dst []float64, factor float64, v []float32) []float64 {
	n := len(dst)
	dst = slices.Grow(dst, len(v))[:n+len(v)]
	for i, more := range v {
		dst[n+i] = factor * float64(more)
	}
	return dst
}

// flush adds the rows that are not in sum yet: dW[c] += Σ delta[c]*x.
func (l *layer) flush(sum []float64) {
	rows := len(l.deltas) / l.out
	for c := 0; c < l.out && rows > 0; c++ {
		at := l.offset + c*l.in
		kernels.Dgemv(blas.Trans, rows, l.in, 1, l.x, l.in, l.deltas[c:], l.out, 1, sum[at:at+l.in], 1)
		for i := c; i < len(l.deltas) && !l.noBias; i += l.out {
			sum[l.bias(c)] += l.deltas[i]
		}
	}
	l.x, l.deltas = l.x[:0], l.deltas[:0]
}

// squareNorm returns ‖v‖², accumulated in float64.
func squareNorm(v []float32) float64 { return kernels.Dsdot(len(v), v, 1, v, 1) }
