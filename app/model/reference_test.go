package model_test

import (
	"math"
	"math/rand/v2"

	"github.com/spdl/spdl/app/model"
)

// reference is a simple second implementation of the model in float64, one example at a time, with
// its gradient written out.
type reference struct{ model.Spec }

// gradient returns the loss of one example and its gradient.
func (r reference) gradient(params []float64, x []float32, label uint8) (loss float64, g []float64) {
	input := make([]float64, len(x))
	for i, v := range x {
		input[i] = float64(v)
	}
	g = make([]float64, r.Dim())
	if r.Hidden == 0 {
		loss, delta := crossEntropy(r.affine(params, input, r.Classes), label)
		r.outer(g, delta, input)
		return loss, g
	}
	first := r.Hidden * (r.Inputs + 1)
	if r.NoBias {
		first = r.Hidden * r.Inputs
	}
	hidden := r.affine(params[:first], input, r.Hidden)
	for j := range hidden {
		hidden[j] = math.Tanh(hidden[j])
	}
	loss, delta := crossEntropy(r.affine(params[first:], hidden, r.Classes), label)
	r.outer(g[first:], delta, hidden)
	below := make([]float64, r.Hidden)
	for j := range below {
		for c := range delta {
			below[j] += delta[c] * params[first+c*r.Hidden+j]
		}
		below[j] *= 1 - hidden[j]*hidden[j]
	}
	r.outer(g[:first], below, input)
	return loss, g
}

// affine is W x + b for params W [out][len(x)], b [out], or W x.
func (r reference) affine(params, x []float64, out int) []float64 {
	z := make([]float64, out)
	for c := range z {
		if !r.NoBias {
			z[c] = params[out*len(x)+c]
		}
		for j, v := range x {
			z[c] += params[c*len(x)+j] * v
		}
	}
	return z
}

// outer writes the gradient delta ⊗ (x, 1), or delta ⊗ x.
func (r reference) outer(g, delta, x []float64) {
	for c, d := range delta {
		if !r.NoBias {
			g[len(delta)*len(x)+c] = d
		}
		for j, v := range x {
			g[c*len(x)+j] = d * v
		}
	}
}

func crossEntropy(logits []float64, label uint8) (loss float64, delta []float64) {
	total := 0.0
	for _, z := range logits {
		total += math.Exp(z)
	}
	delta = make([]float64, len(logits))
	for c, z := range logits {
		delta[c] = math.Exp(z) / total
	}
	delta[label]--
	return math.Log(total) - logits[label], delta
}

// clippedSum returns what ClippedSum documents, with every gradient materialised.
func (r reference) clippedSum(params []float64, x []float32, labels []uint8, clip float64) ([]float64, model.Stats) {
	sum := make([]float64, r.Dim())
	var stats model.Stats
	for i, label := range labels {
		loss, g := r.gradient(params, x[i*r.Inputs:(i+1)*r.Inputs], label)
		n := norm(g)
		stats.Loss += loss / float64(len(labels))
		stats.MeanNorm += n / float64(len(labels))
		stats.MaxNorm = max(stats.MaxNorm, n)
		factor := 1.0
		if most := clip * (1 - 0x1p-12); clip > 0 && n > most {
			factor = most / n
			stats.Clipped++
		}
		for j, v := range g {
			sum[j] += v * factor
		}
	}
	return sum, stats
}

func norm(v []float64) float64 {
	square := 0.0
	for _, a := range v {
		square += a * a
	}
	return math.Sqrt(square)
}

// distance is ‖a-b‖, which it leaves in a.
func distance(a, b []float64) float64 {
	for j, v := range b {
		a[j] -= v
	}
	return norm(a)
}

// uniform is n values in (-scale, scale), exact in float32 so that the model does not round them.
func uniform(n int, scale float64, seed uint64) []float64 {
	rng := rand.New(rand.NewPCG(seed, 0))
	v := make([]float64, n)
	for i := range v {
		v[i] = float64(float32(scale * (2*rng.Float64() - 1)))
	}
	return v
}

// batch is n random examples, about a third of whose inputs are zero.
func batch(spec model.Spec, n int, seed uint64) (x []float32, labels []uint8) {
	rng := rand.New(rand.NewPCG(seed, 1))
	for range n {
		for range spec.Inputs {
			x = append(x, float32(max(0, 1.5*rng.Float64()-0.5)))
		}
		labels = append(labels, uint8(rng.IntN(spec.Classes)))
	}
	return x, labels
}
