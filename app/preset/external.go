package preset

import (
	"fmt"
	"math"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/worker"
	"github.com/spdl/spdl/gradients"
)

// NameExternal is the preset's name on chains that External shaped.
const NameExternal = "external"

// Study is what the parameters of an external model depend on.
type Study struct {
	Model        params.Model
	Examples     int // of one participant
	Rounds       uint64
	Epsilon      float64
	Clip         float64
	SamplingRate float64
	LearningRate float64
	Momentum     float64 // of the workers
}

// External returns parameters for n participants who train a model of their own: rule, election and
// reputation are those of the other presets with a guarantee, and the noise is the least with which
// the chain's ledger pays for the rounds out of epsilon.
func External(n int, s Study) (params.Params, error) {
	if n < 1 || n > gradients.MaxParticipants {
		return params.Params{}, fmt.Errorf("parameters for %d participants, want 1 to %d", n, gradients.MaxParticipants)
	}
	f := (n - 1) / 3
	p := private(n, f)
	p.Preset, p.Model = NameExternal, s.Model
	p.Training = params.Training{Rounds: s.Rounds, LearningRate: s.LearningRate}
	p.Privacy.Clip, p.Privacy.SamplingRate, p.Privacy.WorkerMomentum = s.Clip, s.SamplingRate, s.Momentum
	p.Privacy.Batch = uint32(max(1, math.Round(float64(s.Examples)*s.SamplingRate)))
	p.Privacy.Epsilon, p.Privacy.Delta = s.Epsilon, Delta
	if err := leastNoise(&p); err != nil {
		return p, err
	}
	p.Grid.Step = worker.GridStep(p.Privacy)
	err := Account(&p)
	return p, err
}

// leastNoise sets the noise multiplier, to a thousandth, to the least with which the ledger pays
// for all rounds.
func leastNoise(p *params.Params) error {
	const most = 1 << 10
	low, high := 0.3, 0.6
	pays := func(z float64) (bool, error) {
		p.Privacy.NoiseMultiplier, p.Privacy.Cost, p.Privacy.Budget = z, nil, nil
		asked := p.Privacy.Epsilon
		err := Account(p)
		paid := p.Privacy.Epsilon == asked
		p.Privacy.Epsilon = asked
		return paid, err
	}
	for ; ; low, high = high, 2*high {
		paid, err := pays(high)
		if err != nil {
			return err
		}
		if paid {
			break
		}
		if high > most {
			return fmt.Errorf("no noise multiplier below %d pays for %d rounds out of epsilon %g", most, p.Training.Rounds, p.Privacy.Epsilon)
		}
	}
	for high-low > 0.0005 {
		middle := (low + high) / 2
		paid, err := pays(middle)
		if err != nil {
			return err
		}
		if paid {
			high = middle
		} else {
			low = middle
		}
	}
	high = math.Ceil(high*1000) / 1000
	_, err := pays(high)
	return err
}
