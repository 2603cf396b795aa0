package app

import (
	"fmt"
	"math"

	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/krum/rules"
)

// The mechanisms of Privacy.
const (
	MechanismGaussian  = "gaussian"
	MechanismPrototype = "prototype"
	MechanismNone      = "none"
)

// maxShift bounds what a leader may do with the tolerance: delta*sqrt(d) in
// gradient units, as a share of the clip norm.
const maxShift = 0.05

// maxBlocks bounds terms and waits, so that their sums do not overflow.
const maxBlocks = 1 << 20

// Validate checks the parameters for n participants. The warnings name what
// is allowed and weakens a guarantee.
func (p Params) Validate(n int) (warnings []string, err error) {
	for _, check := range []func() error{
		func() error { return checkText("preset", p.Preset, MaxMoniker) },
		p.Model.validate,
		p.Grid.validate,
		p.Training.validate,
		p.Privacy.validate,
		p.Privacy.validateLedger,
		p.validateFloor,
		p.Reputation.validate,
		p.Election.validate,
		func() error { return p.Rule.validate(n) },
		p.validateTolerance,
	} {
		if err := check(); err != nil {
			return nil, err
		}
	}
	return p.warnings(n), nil
}

func (m Model) validate() error {
	switch {
	case m.Kind != ModelSoftmax && m.Kind != ModelMLP:
		return fmt.Errorf("model.kind is %q, want %q or %q", m.Kind, ModelSoftmax, ModelMLP)
	case (m.Hidden == 0) != (m.Kind == ModelSoftmax):
		return fmt.Errorf("model.hidden is %d for kind %q", m.Hidden, m.Kind)
	case m.Inputs == 0 || m.Classes < 2:
		return fmt.Errorf("model has %d inputs and %d classes, want at least 1 and 2", m.Inputs, m.Classes)
	case m.Inputs > gradients.MaxDim || m.Hidden > gradients.MaxDim || m.Classes > gradients.MaxDim || m.Dim() > gradients.MaxDim:
		return fmt.Errorf("model of %d-%d-%d is too large, at most %d parameters", m.Inputs, m.Hidden, m.Classes, gradients.MaxDim)
	case m.Pool == 0:
		return fmt.Errorf("model.pool is 0, want at least 1")
	case math.IsNaN(m.PixelMean) || math.IsInf(m.PixelMean, 0):
		return fmt.Errorf("model.pixel_mean is %g, want a finite number", m.PixelMean)
	case !positive(m.PixelScale):
		return fmt.Errorf("model.pixel_scale is %g, want above 0", m.PixelScale)
	}
	return nil
}

func (g Grid) validate() error {
	if g.Width != 1 && g.Width != 2 {
		return fmt.Errorf("grid.width is %d, want 1 or 2 bytes", g.Width)
	}
	if !positive(g.Step) {
		return fmt.Errorf("grid.step is %g, want above 0", g.Step)
	}
	return nil
}

func (t Training) validate() error {
	switch {
	case t.Rounds == 0:
		return fmt.Errorf("training.rounds is 0, want at least 1")
	case !positive(t.LearningRate):
		return fmt.Errorf("training.learning_rate is %g, want above 0", t.LearningRate)
	case !(t.Momentum >= 0 && t.Momentum < 1):
		return fmt.Errorf("training.momentum is %g, want within [0, 1)", t.Momentum)
	case !(t.WeightDecay >= 0 && t.WeightDecay < 1):
		return fmt.Errorf("training.weight_decay is %g, want within [0, 1)", t.WeightDecay)
	}
	return nil
}

func (p Privacy) validate() error {
	switch p.Mechanism {
	case MechanismGaussian:
		if !positive(p.Clip) || !positive(p.NoiseMultiplier) {
			return fmt.Errorf("privacy.clip is %g and noise_multiplier %g, want above 0", p.Clip, p.NoiseMultiplier)
		}
		if std := p.NoiseMultiplier * p.Clip / float64(max(p.Batch, 1)); !positive(std * std) {
			return fmt.Errorf("privacy.noise_multiplier %g, clip %g and batch %d make noise of standard deviation %g, out of range", p.NoiseMultiplier, p.Clip, p.Batch, std)
		}
	case MechanismPrototype:
		if !positive(p.PrototypeEpsilon) {
			return fmt.Errorf("privacy.prototype_epsilon is %g, want above 0", p.PrototypeEpsilon)
		}
	case MechanismNone:
	default:
		return fmt.Errorf("privacy.mechanism is %q, want %q, %q or %q", p.Mechanism, MechanismGaussian, MechanismPrototype, MechanismNone)
	}
	switch {
	case p.Mechanism != MechanismGaussian && p.NoiseMultiplier != 0:
		return fmt.Errorf("privacy.noise_multiplier is %g, want 0 for mechanism %q", p.NoiseMultiplier, p.Mechanism)
	case p.Mechanism != MechanismGaussian && p.Discrete:
		return fmt.Errorf("privacy.discrete with mechanism %q, want %q", p.Mechanism, MechanismGaussian)
	case p.Mechanism != MechanismPrototype && p.PrototypeEpsilon != 0:
		return fmt.Errorf("privacy.prototype_epsilon is %g, want 0 for mechanism %q", p.PrototypeEpsilon, p.Mechanism)
	case p.Batch == 0:
		return fmt.Errorf("privacy.batch is 0, want at least 1")
	case !(p.SamplingRate >= 0 && p.SamplingRate <= 1):
		return fmt.Errorf("privacy.sampling_rate is %g, want within [0, 1]", p.SamplingRate)
	case !(p.WorkerMomentum >= 0 && p.WorkerMomentum < 1):
		return fmt.Errorf("privacy.worker_momentum is %g, want within [0, 1)", p.WorkerMomentum)
	case !(p.Clip >= 0) || math.IsInf(p.Clip, 0):
		return fmt.Errorf("privacy.clip is %g, want at least 0", p.Clip)
	}
	return nil
}

// validateFloor refuses a floor for noise of no known norm, and one that no
// vector of the grid reaches.
func (p Params) validateFloor() error {
	if !p.Privacy.NoiseFloor {
		return nil
	}
	if p.Privacy.Mechanism != MechanismGaussian {
		return fmt.Errorf("privacy.noise_floor with mechanism %q, only %q has noise of a known norm", p.Privacy.Mechanism, MechanismGaussian)
	}
	end := gradients.Width(p.Grid.Width).Max()
	rounds := int(min(p.Training.Rounds, math.MaxInt32)) // the norm rises with them to a limit
	if least, _ := p.Noise().Bounds(rounds, rounds); least > int64(p.Model.Dim())*end*end {
		return fmt.Errorf("privacy.noise_floor asks for a squared norm of at least %d grid steps, a vector of %d coordinates up to %d has %d: grid.step %g is too small for the noise",
			least, p.Model.Dim(), end, int64(p.Model.Dim())*end*end, p.Grid.Step)
	}
	return nil
}

func (r Reputation) validate() error {
	if r.Initial < 1 || r.Initial > One {
		return fmt.Errorf("reputation.initial is %d, want within [1, %d]", r.Initial, One)
	}
	if r.Penalty < 0 || r.Penalty > One || r.Reward < 0 || r.Reward > One {
		return fmt.Errorf("reputation.penalty is %d and reward %d, want within [0, %d]", r.Penalty, r.Reward, One)
	}
	return nil
}

func (e Election) validate() error {
	if e.Term == 0 || e.ViewBlocks == 0 {
		return fmt.Errorf("election.term is %d and view_blocks %d, want at least 1", e.Term, e.ViewBlocks)
	}
	if e.Term > maxBlocks || e.ViewBlocks > maxBlocks || e.QuorumBlocks > maxBlocks {
		return fmt.Errorf("election.term is %d, view_blocks %d and quorum_blocks %d, at most %d", e.Term, e.ViewBlocks, e.QuorumBlocks, maxBlocks)
	}
	return nil
}

func (r Rule) validate(n int) error {
	rule, err := rules.Lookup(r.Name)
	if err != nil {
		return fmt.Errorf("rule.name: %w", err)
	}
	switch {
	case n < 1 || n > gradients.MaxParticipants:
		return fmt.Errorf("%d participants, want 1 to %d", n, gradients.MaxParticipants)
	case n < 3*int(r.Byzantine)+1:
		return fmt.Errorf("rule.byzantine is %d with %d participants, at most %d (N >= 3f+1)", r.Byzantine, n, (n-1)/3)
	case r.Tolerance < 0:
		return fmt.Errorf("rule.tolerance is %d grid steps, want at least 0", r.Tolerance)
	}
	// A rule that cannot aggregate the fewest gradients that may close a round
	// would stall the chain: try it.
	f := int(r.Byzantine)
	trial := make([]gradients.Vector, n-f)
	for i := range trial {
		trial[i] = gradients.NewVector(gradients.Int8, 1)
	}
	if _, err := rule.Aggregate(rules.Input{N: n, F: f, Vectors: trial, Unsquared: r.Unsquared}); err != nil {
		return fmt.Errorf("rule.name %q cannot aggregate N-f of N=%d gradients with f=%d: %w", r.Name, n, f, err)
	}
	return nil
}

func (p Params) validateTolerance() error {
	if p.Rule.Tolerance == 0 {
		return nil
	}
	reach := float64(p.Rule.Tolerance) * p.Grid.Step * math.Sqrt(float64(p.Model.Dim()))
	if bound := maxShift * p.Privacy.Clip; p.Privacy.Clip > 0 && reach > bound {
		return fmt.Errorf("rule.tolerance %d lets a leader shift Delta by %.3g (tolerance*step*sqrt(d)), at most %.3g (%g of the clip norm)",
			p.Rule.Tolerance, reach, bound, maxShift)
	}
	return nil
}

func (p Params) warnings(n int) (out []string) {
	f := int(p.Rule.Byzantine)
	if rule, err := rules.Lookup(p.Rule.Name); err == nil {
		if err := rule.Condition(n, f); err != nil {
			out = append(out, fmt.Sprintf("rule %s with N=%d f=%d is outside its theorem: %v", p.Rule.Name, n, f, err))
		}
	}
	if p.TestChain {
		out = append(out, "test_chain: TEST CHAIN ONLY, workers may draw their noise from a known seed and nothing is private")
	}
	if p.Rule.Zeros {
		out = append(out, "rule.zeros: a silent participant counts as the zero vector; one of ten makes Krum choose it in most rounds")
	}
	if p.Rule.Unsquared {
		out = append(out, "rule.unsquared: scores sum norms without the square, as the paper writes; Blanchard et al. prove the squared rule")
	}
	if affordable := p.Privacy.Participations(nil); affordable < p.Training.Rounds {
		out = append(out, fmt.Sprintf("privacy.budget pays for %d of training.rounds %d", affordable, p.Training.Rounds))
	}
	if p.Privacy.Mechanism == MechanismGaussian && len(p.Privacy.Cost) == 0 {
		out = append(out, "privacy has no budget: no gradient is ever refused for what was spent")
	}
	if p.Privacy.Mechanism != MechanismGaussian {
		out = append(out, fmt.Sprintf("NO DP GUARANTEE: privacy.mechanism is %q", p.Privacy.Mechanism))
	}
	return out
}

func positive(x float64) bool { return x > 0 && !math.IsInf(x, 0) }
