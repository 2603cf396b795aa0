package privacy

import (
	"fmt"
	"math"
)

// latticeBits is the resolution of the lattice of discrete noise: z*C is 2^26 to 2^27 steps.
const latticeBits = 26

// DiscreteSource supplies the noise of a mechanism whose config says Discrete. [Source] is one.
type DiscreteSource interface {
	// DiscreteNormal fills dst with independent draws of the distribution, unpredictable to everybody but the worker.
	DiscreteNormal(dst []int64, g DiscreteGaussian)
}

// lattice adds discrete Gaussian noise to sums.
//
// Its step h is the power of two that makes z*C at least 2^26 steps and fewer than 2^27. Division
// by h is exact; rounding to integers then moves each coordinate by half a step at most, so that
// one example moves the rounded sum by no more than C + h*sqrt(d). The noise is wider by as much:
// sigma is z*(C/h + sqrt(d)) steps rounded up to an integer, and the noise multiplier with respect
// to what one example really does is z or more. For z=2.67 and d=7850 that is 2.7e-6 more noise.
type lattice struct {
	step  float64 // h
	noise DiscreteGaussian
	src   DiscreteSource
	draws []int64 // scratch
}

// newLattice returns the lattice of a valid gaussian config, and its noise's standard deviation on the sum.
func newLattice(c Config, dim int, src DiscreteSource) (*lattice, float64, error) {
	_, exponent := math.Frexp(c.NoiseMultiplier * c.Clip) // which is 2^(exponent-1) to 2^exponent
	step := math.Ldexp(1, exponent-1-latticeBits)
	// Rounded up: the factor covers the rounding errors of the product.
	sigma := math.Ceil(c.NoiseMultiplier * (c.Clip/step + math.Sqrt(float64(dim))) * (1 + 0x1p-50))
	std := sigma * step
	const most = 1 << 28 // whose square is maxSigmaSquare
	if !(step >= 0x1p-1000 && sigma <= most && std <= 0x1p1000) {
		return nil, 0, fmt.Errorf("%w: discrete noise for clip %v, multiplier %v and dimension %d, want a step of at "+
			"least 2^-1000 and a deviation of at most 2^28 steps and 2^1000, have steps of %v and %v of them",
			ErrConfig, c.Clip, c.NoiseMultiplier, dim, step, sigma)
	}
	noise, err := NewDiscreteGaussian(uint64(sigma)*uint64(sigma), 1)
	return &lattice{step: step, noise: noise, src: src, draws: make([]int64, dim)}, std, err
}

// release writes the noised sum into dst.
func (l *lattice) release(dst, sum []float64) {
	l.src.DiscreteNormal(l.draws, l.noise)
	for j, v := range sum {
		dst[j] = float64(l.round(v)+l.draws[j]) * l.step
	}
	clear(l.draws)
}

// round returns v in steps. Values beyond int64 are cut off, which moves no two values further apart.
func (l *lattice) round(v float64) int64 {
	const limit = 1 << 62
	return int64(max(-limit, min(limit, math.RoundToEven(v/l.step))))
}
