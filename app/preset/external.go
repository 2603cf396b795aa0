package preset

import (
	"fmt"
	"math"
	"sort"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/worker"
	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/privacy/accountant"
)

// NameExternal is the preset's name in the parameters that External returns.
const NameExternal = "external"

// Study holds the settings on which the parameters of an external model depend.
type Study struct {
	Model        params.Model
	Examples     int // the number of examples of one participant
	Rounds       uint64
	Epsilon      float64
	Clip         float64
	SamplingRate float64
	LearningRate float64
	Momentum     float64 // the momentum of the workers
}

// External returns parameters for n participants that train an external model. Rule, election and
// reputation are the same as in the other presets with a guarantee. The noise multiplier is the
// smallest at which the chain's ledger pays for all rounds within epsilon.
func External(n int, s Study) (params.Params, error) {
	if n < 1 || n > gradients.MaxParticipants {
		return params.Params{}, fmt.Errorf("parameters for %d participants, want 1 to %d", n, gradients.MaxParticipants)
	}
	f := params.MaxByzantine(n)
	p := privateSettings(n, f)
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

// SetEpsilon sets the budget of every participant to epsilon, and the noise multiplier to the
// smallest with which that budget pays for all rounds. It lowers the learning rate in proportion to
// the noise, so that a step with the new epsilon adds no more noise to the model than a step with
// the old epsilon. SetEpsilon fails without the gaussian mechanism.
func SetEpsilon(p *params.Params, epsilon float64) error {
	if p.Privacy.Mechanism != params.MechanismGaussian {
		return fmt.Errorf("epsilon %g with mechanism %q, which guarantees none", epsilon, p.Privacy.Mechanism)
	}
	before := p.Privacy.NoiseMultiplier
	p.Privacy.Epsilon = epsilon
	if err := leastNoise(p); err != nil {
		return err
	}
	p.Training.LearningRate *= min(1, before/p.Privacy.NoiseMultiplier)
	p.Grid.Step = worker.GridStep(p.Privacy)
	return nil
}

// SetBatch sets the expected batch. It changes the sampling rate in proportion, so that the number of examples stays
// the same, and sets the smallest noise multiplier with which the budget pays for all rounds. It lowers the learning
// rate so that a step with the new batch adds no more noise to the model than a step with the old batch. It fails
// without the gaussian mechanism, and for a batch above the number of examples.
func SetBatch(p *params.Params, batch int) error {
	was := float64(p.Privacy.Batch)
	rate := p.Privacy.SamplingRate * float64(batch) / was
	switch {
	case p.Privacy.Mechanism != params.MechanismGaussian:
		return fmt.Errorf("batch %d with mechanism %q: only the gaussian one has a noise that follows from the batch", batch,
			p.Privacy.Mechanism)
	case batch < 1 || rate > 1:
		return fmt.Errorf("batch %d, want 1 to the %.0f examples of a participant", batch, was/p.Privacy.SamplingRate)
	}
	before := p.Privacy.NoiseMultiplier / was
	p.Privacy.Batch, p.Privacy.SamplingRate = uint32(batch), rate
	if err := leastNoise(p); err != nil {
		return err
	}
	p.Training.LearningRate *= min(1, before/(p.Privacy.NoiseMultiplier/float64(batch)))
	p.Grid.Step = worker.GridStep(p.Privacy)
	return nil
}

// maxMultiplier is the max noise multiplier that leastNoise tries. The ledger rounds costs up, so a
// very small epsilon may not pay for all rounds at any noise.
const maxMultiplier = 1e5

// leastNoise sets the noise multiplier to the smallest multiple of 0.001 with which the ledger pays
// for all rounds. The search starts at the accountant's multiplier, which may be too small, because
// the ledger rounds costs up. More noise never costs more.
func leastNoise(p *params.Params) error {
	rate := p.Privacy.SamplingRate
	z, err := accountant.NoiseMultiplier(accountant.ChainMethod(rate), rate, int(p.Training.Rounds), p.Privacy.Epsilon,
		p.Privacy.Delta)
	if err != nil {
		return err
	}
	asked := p.Privacy.Epsilon
	pays := func(thousandths int) bool {
		p.Privacy.NoiseMultiplier, p.Privacy.Epsilon = float64(thousandths)/1000, asked
		// Account raises epsilon if the budget does not pay for all rounds.
		err = Account(p)
		return err != nil || p.Privacy.Epsilon == asked
	}
	first, step := int(math.Ceil(1000*min(z, maxMultiplier))), 1
	for !pays(first + step - 1) {
		if step *= 2; first+step > 1000*maxMultiplier {
			return fmt.Errorf("epsilon %g is less than the chain's ledger can count for %d rounds: the least is %g", asked,
				p.Training.Rounds, p.Privacy.Epsilon)
		}
	}
	from := first + step/2
	least := from + sort.Search(step-step/2, func(k int) bool { return pays(from + k) })
	pays(least)
	return err
}
