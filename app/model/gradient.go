package model

import (
	"fmt"
	"math"

	"github.com/spdl/spdl/privacy"
)

// Stats describes one batch. It is computed from private data without noise, so only the worker may
// see it: Stats must not reach the chain or a public metric.
type Stats struct {
	Loss      float64 // mean cross-entropy, in nats
	MaxNorm   float64 // largest norm of a single example's gradient, before clipping
	MeanNorm  float64 // mean of the examples' gradient norms, before clipping
	Clipped   int     // number of examples whose gradient was scaled down
	NonFinite int     // number of examples whose gradients overflow float32; the sum and the other fields leave them out
}

const (
	// clipMargin keeps an example's contribution to a sum within the clip norm in spite of the
	// float32 roundings. The package comment derives the value.
	clipMargin = 1.0 / (1 << 15)
	// flushRows is the max number of rows that accumulate in float32 before they are added to the
	// float64 result.
	flushRows = 256
)

// ClippedSum sets dst to the sum over examples of w_i*g_i*min(1, clip/‖w_i*g_i‖). g_i is the
// gradient of example i's cross-entropy loss at params, and w_i is the weight of the example's
// class: the weight that [Model.Weigh] has set, or 1. dst and params have length Dim. With clip <=
// 0 nothing is clipped. The batch x is row-major, with Inputs values for each of the labels; it may
// be empty.
//
// The sum changes by at most clip when one example is added or removed, whatever params and x are:
// an example whose gradient is not finite adds nothing. ClippedSum panics if shapes do not match or
// a label is not below Classes.
func (m *Model) ClippedSum(dst, params []float64, x []float32, labels []uint8, clip float64) Stats {
	if len(dst) != m.Dim() {
		panic(fmt.Sprintf("model: destination of %d, want %d", len(dst), m.Dim()))
	}
	m.load(params, x, labels)
	clear(dst)
	clear(m.sum)
	var stats Stats
	for i, label := range labels {
		m.add(&stats, m.row(x, i), label, clip)
		if (i+1)%flushRows == 0 || i+1 == len(labels) {
			m.flush(dst)
		}
	}
	if n := float64(len(labels) - stats.NonFinite); n > 0 {
		stats.Loss /= n
		stats.MeanNorm /= n
	}
	return stats
}

// add accumulates one example's clipped gradient, and records its loss and norm in stats.
func (m *Model) add(stats *Stats, x []float32, label uint8, clip float64) {
	fed := m.forward(x)
	loss := residual(m.logits, label)
	if len(m.weights) > 0 {
		scale(m.logits, m.weights[label])
	}
	square := squareNorm(m.logits) * m.output.squareNorm(fed)
	if m.spec.Hidden > 0 {
		m.backward()
		square += squareNorm(m.delta) * m.hidden.squareNorm(x)
	}
	norm := math.Sqrt(square)
	if !finite(norm) || !finite(loss) {
		stats.NonFinite++
		return
	}
	stats.Loss += loss
	stats.MeanNorm += norm
	stats.MaxNorm = max(stats.MaxNorm, norm)

	if factor := privacy.ClipScale(norm, clip*(1-clipMargin)); factor < 1 {
		stats.Clipped++
		scale(m.logits, factor)
		scale(m.delta, factor)
	}
	m.accumulate(fed, x)
}

// backward computes the hidden layer's deltas from the output deltas, which are in m.logits.
func (m *Model) backward() {
	m.output.backward(m.delta, m.params, m.logits)
	for j, a := range m.activation {
		m.delta[j] *= 1 - a*a // tanh' = 1 - tanh²
	}
}

// accumulate adds the gradient of one example to m.sum. The caller has computed the deltas of all
// layers.
func (m *Model) accumulate(fed, x []float32) {
	m.output.accumulate(m.sum, m.logits, fed)
	if m.spec.Hidden > 0 {
		m.hidden.accumulate(m.sum, m.delta, x)
	}
}

// Gradient sets dst to the gradient of a loss at params, summed over the examples without clipping.
// The loss is a function of an example's logits and label. The callback deltas defines it: deltas
// replaces the logits by the derivatives of the loss with respect to them. Gradient panics under the
// same conditions as ClippedSum.
func (m *Model) Gradient(dst, params []float64, x []float32, labels []uint8,
	deltas func(logits []float32, label uint8)) {
	if len(dst) != m.Dim() {
		panic(fmt.Sprintf("model: destination of %d, want %d", len(dst), m.Dim()))
	}
	m.load(params, x, labels)
	clear(dst)
	clear(m.sum)
	for i, label := range labels {
		if i%flushRows == 0 {
			m.flush(dst)
		}
		row := m.row(x, i)
		fed := m.forward(row)
		deltas(m.logits, label)
		if m.spec.Hidden > 0 {
			m.backward()
		}
		m.accumulate(fed, row)
	}
	m.flush(dst)
}

// flush adds the accumulated gradients to dst.
func (m *Model) flush(dst []float64) {
	for j, v := range m.sum {
		dst[j] += float64(v)
	}
	clear(m.sum)
}

func scale(v []float32, factor float64) {
	for i := range v {
		v[i] = float32(float64(v[i]) * factor)
	}
}
