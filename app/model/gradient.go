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
	Weight    float64 // sum of the examples' weights
}

// ClippedSum sets dst to the sum over examples of w_i*g_i*ClipScale(‖g_i‖, clip). g_i is the gradient of example
// i's cross-entropy loss at params, and w_i is the weight of the example's class: the weight that [Model.Weigh] has
// set, which is at most 1, or 1. dst and params have length Dim. With clip <= 0 nothing is clipped. The batch x is
// row-major, with Inputs values for each of the labels; it may be empty.
//
// The sum changes by at most clip when one example is added or removed, whatever params and x are, in a batch of at
// most [privacy.MaxRows]: the margin of [privacy.ClipScale] pays for all rounding, and an example whose gradient is not
// finite adds nothing. ClippedSum panics if shapes do not match or a label is not below Classes.
func (m *Model) ClippedSum(dst, params []float64, x []float32, labels []uint8, clip float64) Stats {
	if len(dst) != m.Dim() {
		panic(fmt.Sprintf("model: destination of %d, want %d", len(dst), m.Dim()))
	}
	m.load(params, x, labels)
	clear(dst)
	var stats Stats
	for i, label := range labels {
		m.add(dst, &stats, m.row(x, i), label, clip)
	}
	m.flush(dst)
	if n := float64(len(labels) - stats.NonFinite); n > 0 {
		stats.Loss /= n
		stats.MeanNorm /= n
	}
	return stats
}

// add accumulates one example's clipped gradient, and records its loss and norm in stats.
func (m *Model) add(dst []float64, stats *Stats, x []float32, label uint8, clip float64) {
	fed := m.forward(x)
	loss := residual(m.logits, label)
	square := squareNorm(m.outputs) * m.output.squareNorm(fed)
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

	factor := privacy.ClipScale(norm, clip)
	if factor < 1 {
		stats.Clipped++
	}
	weight := 1.0
	if len(m.weights) > 0 {
		weight = m.weights[label]
	}
	stats.Weight += weight
	m.accumulate(dst, weight*factor, fed, x)
}

// backward computes the hidden layer's deltas from the output deltas, which are in m.outputs.
func (m *Model) backward() {
	m.output.backward(m.delta, m.params, m.outputs)
	for j, a := range m.activation {
		m.delta[j] *= 1 - a*a // tanh' = 1 - tanh²
	}
}

// accumulate adds the gradient of one example, multiplied by factor, to dst. The caller has computed
// the deltas of all layers, and flushes after the last example.
func (m *Model) accumulate(dst []float64, factor float64, fed, x []float32) {
	m.output.accumulate(dst, factor, m.outputs, fed)
	if m.spec.Hidden > 0 {
		m.hidden.accumulate(dst, factor, m.delta, x)
	}
}

// flush adds the gradients of the last examples to dst.
func (m *Model) flush(dst []float64) {
	m.output.flush(dst)
	if m.spec.Hidden > 0 {
		m.hidden.flush(dst)
	}
}

// Gradient sets dst to the gradient of a loss at params, summed over the examples without clipping. The loss is a
// function of an example's logits and label. The callback deltas defines it: deltas replaces the logits by the
// derivatives of the loss with respect to them. Gradient panics under the same conditions as ClippedSum.
func (m *Model) Gradient(dst, params []float64, x []float32, labels []uint8,
	deltas func(logits []float32, label uint8)) {
	if len(dst) != m.Dim() {
		panic(fmt.Sprintf("model: destination of %d, want %d", len(dst), m.Dim()))
	}
	m.load(params, x, labels)
	clear(dst)
	for i, label := range labels {
		row := m.row(x, i)
		fed := m.forward(row)
		deltas(m.logits, label)
		if m.spec.Hidden > 0 {
			m.backward()
		}
		m.accumulate(dst, 1, fed, row)
	}
	m.flush(dst)
}
