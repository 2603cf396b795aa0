package privacy

import (
	"fmt"
	"math"

	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/privacy/floor"
)

// Mechanism turns a worker's gradient sums into the vectors that it submits, one per round. It is a
// function of its config, its source and the sums so far. It is not safe for concurrent use.
type Mechanism struct {
	config Config
	grid   gradients.Grid
	src    NormalSource
	std    float64  // of the noise in one batch mean, before momentum; 0 if not known in advance
	fine   *lattice // nil unless the noise is discrete

	momentum []float64 // m, the vector submitted last, before rounding; 0 at first
	releases int       // number of vectors that went into momentum
	variance float64   // of the noise in each coordinate of momentum
	noise    []float64 // scratch; all 0 between releases
}

// Report describes one release. Release and Saturated, and NoiseStd of a gaussian mechanism, reveal
// no more than the submitted vector does. Fields marked PRIVATE are computed before the noise: they
// are for the worker alone, never for a public log or metric.
type Report struct {
	Release    int     // t: the number of releases so far, this one included
	Saturated  int     // coordinates that the grid's range cut off
	NoiseStd   float64 // standard deviation of each submitted coordinate's noise, before rounding; PRIVATE for Prototype
	SignalNorm float64 // PRIVATE: Euclidean norm of the batch mean without noise
}

// New returns a mechanism for vectors of dim coordinates. Every grid fits; [StepFor] gives the default step of a
// gaussian mechanism. It fails with ErrConfig, or as [gradients.Grid.Validate] does.
func New(c Config, grid gradients.Grid, dim int, src NormalSource) (*Mechanism, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	if err := grid.Validate(); err != nil {
		return nil, fmt.Errorf("privacy: %w", err)
	}
	if dim < 1 || dim > gradients.MaxDim {
		return nil, fmt.Errorf("%w: dimension %d, want 1 to %d", ErrConfig, dim, gradients.MaxDim)
	}
	if src == nil {
		return nil, fmt.Errorf("%w: no random source", ErrConfig)
	}
	m := &Mechanism{
		config:   c,
		grid:     grid,
		src:      src,
		std:      roundStd(c),
		momentum: make([]float64, dim),
		noise:    make([]float64, dim),
	}
	if c.Discrete {
		discrete, ok := src.(DiscreteSource)
		if !ok {
			return nil, fmt.Errorf("%w: random source %T has no discrete noise", ErrConfig, src)
		}
		fine, std, err := newLattice(c, dim, discrete)
		if err != nil {
			return nil, err
		}
		m.fine, m.std = fine, std/c.ExpectedBatch
	}
	return m, nil
}

// Release noises the sum of a batch's per-example gradients, which it leaves unchanged, and returns
// the vector to submit: momentum over sum/B plus noise, rounded to the grid. For a gaussian
// mechanism the sum must be clipped: one example adds Clip to it at most. An empty batch, a sum of
// zeros, is released like any other: silence would reveal its size.
//
// Every call spends privacy. Call it once per round and keep the vector: a retry sends the same bytes.
//
// It panics if the sum has another dimension or a coordinate that is not finite, as that would
// spoil every later release.
func (m *Mechanism) Release(sum []float64) (gradients.Vector, Report) {
	signal := m.norm(sum) / m.config.ExpectedBatch
	std := m.meanStd(signal)
	m.noised(sum, std)
	beta, weight := m.config.Momentum, floor.Weight(m.config.Momentum)
	for j, g := range m.noise {
		m.momentum[j] = beta*m.momentum[j] + weight*g
	}
	clear(m.noise)
	m.variance = beta*beta*m.variance + weight*weight*std*std
	m.releases++

	v := gradients.NewVector(m.grid.Width, len(sum))
	saturated := m.grid.Quantize(v, m.momentum)
	return v, Report{
		Release:    m.releases,
		Saturated:  saturated,
		NoiseStd:   math.Sqrt(m.variance),
		SignalNorm: signal,
	}
}

// noised turns the scratch space into the batch mean with noise of standard deviation std.
func (m *Mechanism) noised(sum []float64, std float64) {
	if m.fine != nil {
		m.fine.release(m.noise, sum)
		for j := range m.noise {
			m.noise[j] /= m.config.ExpectedBatch
		}
		return
	}
	if std > 0 {
		m.src.Normal(m.noise)
	}
	for j, v := range sum {
		m.noise[j] = v/m.config.ExpectedBatch + std*m.noise[j]
	}
}

// norm returns the Euclidean norm of a sum, and panics if the sum is malformed.
func (m *Mechanism) norm(sum []float64) float64 {
	if len(sum) != len(m.momentum) {
		panic(fmt.Sprintf("privacy: sum of dimension %d, want %d", len(sum), len(m.momentum)))
	}
	square := 0.0
	for j, v := range sum {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			panic(fmt.Sprintf("privacy: coordinate %d of the sum is %v, want a finite number", j, v))
		}
		square += v * v
	}
	return math.Sqrt(square)
}

// meanStd returns the standard deviation of the noise added to a batch mean of the given norm.
func (m *Mechanism) meanStd(signal float64) float64 {
	if m.config.Kind == Prototype {
		const sensitivity, delta = 1e-6, 1e-5
		return sensitivity * signal * math.Sqrt(2*math.Log(1.25/delta)) / m.config.PrototypeEpsilon
	}
	return m.std
}

// submittedStd returns the standard deviation of the noise in each coordinate of release t, with the little that
// rounding to the lattice of discrete noise adds.
func (m *Mechanism) submittedStd(t int) float64 {
	return m.std * math.Sqrt(floor.VarianceFactor(m.config.Momentum, t))
}
