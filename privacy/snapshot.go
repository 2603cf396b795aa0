package privacy

import (
	"errors"
	"fmt"
	"math"
)

// ErrSnapshot is wrapped by every error that [Mechanism.Restore] returns.
var ErrSnapshot = errors.New("privacy: bad snapshot")

// Snapshot is the state that a worker must not lose: without its momentum the noise of its next vector is not what
// validators expect of release t. It holds noised values only, but with all their bits: keep it local.
type Snapshot struct {
	Momentum      []float64 // the vector submitted last, before rounding
	Releases      int       // t of that vector; 0 before the first
	NoiseVariance float64   // of each coordinate of Momentum
}

// Snapshot copies the state.
func (m *Mechanism) Snapshot() Snapshot {
	return Snapshot{
		Momentum:      append([]float64(nil), m.momentum...),
		Releases:      m.releases,
		NoiseVariance: m.variance,
	}
}

// Resume stands in for a lost snapshot: the mechanism goes on as after a number of releases, with a
// momentum of fresh noise alone that has the variance which validators expect. That costs no
// privacy, because it reveals nothing of any example; it loses the signal in the lost momentum.
func (m *Mechanism) Resume(releases int) {
	std := m.submittedStd(releases)
	if std > 0 {
		m.src.Normal(m.momentum)
	}
	for j := range m.momentum {
		m.momentum[j] *= std
	}
	m.releases, m.variance = releases, std*std
}

// Releases returns the number of vectors in the momentum.
func (m *Mechanism) Releases() int { return m.releases }

// Restore replaces the state by a snapshot of a mechanism with the same config and dimension; later
// releases are as if it had never stopped. It copies.
//
// It fails with ErrSnapshot, changing nothing, if the dimension differs, a number is not finite or negative where it
// must not be, or the noise variance is not what this config has after this many releases.
func (m *Mechanism) Restore(s Snapshot) error {
	if len(s.Momentum) != len(m.momentum) {
		return fmt.Errorf("%w: dimension %d, want %d", ErrSnapshot, len(s.Momentum), len(m.momentum))
	}
	if s.Releases < 0 {
		return fmt.Errorf("%w: %d releases, want at least 0", ErrSnapshot, s.Releases)
	}
	for j, v := range s.Momentum {
		if math.IsNaN(v) || math.IsInf(v, 0) {
			return fmt.Errorf("%w: coordinate %d is %v, want a finite number", ErrSnapshot, j, v)
		}
	}
	if !(s.NoiseVariance >= 0) || math.IsInf(s.NoiseVariance, 1) {
		return fmt.Errorf("%w: noise variance %v, want a finite number of at least 0", ErrSnapshot, s.NoiseVariance)
	}
	if m.config.Kind != Prototype { // whose noise depends on the gradients
		std, want := math.Sqrt(s.NoiseVariance), m.submittedStd(s.Releases)
		if math.Abs(std-want) > 1e-9*want { // far above rounding, far below any other config
			return fmt.Errorf("%w: noise of standard deviation %v after %d releases, want %v", ErrSnapshot, std, s.Releases,
				want)
		}
	}
	copy(m.momentum, s.Momentum)
	m.releases = s.Releases
	m.variance = s.NoiseVariance
	return nil
}
