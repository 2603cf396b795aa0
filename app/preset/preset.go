// Package preset holds the parameter sets that were measured on MNIST; docs/RULES.md has the results.
package preset

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/spdl/spdl/app/model/inputs"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/gradients"
)

// examples is the number of training examples in MNIST. A preset's batch is a fraction of one
// participant's share of these examples.
const examples = 60000

// paperStep is the grid step of the preset paper. The noise of that preset does not hide the
// rounding, so the step must be small. With this step the int16 grid spans +-4, far more than any
// coordinate of a mean gradient for inputs within [-1, 4.1].
const paperStep = 1.0 / 4096

// builders holds the presets in the order in which they are shown; the first is the default.
var builders = []struct {
	name  string
	build func(n, f int) params.Params
}{
	{"default", strokesPreset},
	{"pixels", pixelsPreset},
	{"mlp", mlpPreset},
	{"paper", paperPreset},
	{"paper-literal", literalPreset},
	{"paper-lemma1", lemma1},
}

// Names lists the presets.
func Names() []string {
	names := make([]string, len(builders))
	for i, b := range builders {
		names[i] = b.name
	}
	return names
}

// New returns the preset's parameters for n participants, of which f = (n-1)/3 may be Byzantine. It
// fails for an unknown preset.
func New(name string, n int) (params.Params, error) {
	if n < 1 || n > gradients.MaxParticipants {
		return params.Params{}, fmt.Errorf("preset for %d participants, want 1 to %d", n, gradients.MaxParticipants)
	}
	for _, b := range builders {
		if b.name == name {
			p := b.build(n, params.MaxByzantine(n))
			p.Preset = name
			err := cmp.Or(Own{}.scale(&p, n), Account(&p))
			return p, err
		}
	}
	return params.Params{}, fmt.Errorf("unknown preset %q, want one of %s", name, strings.Join(AllNames(), ", "))
}

// strokesPreset returns the default preset: softmax regression without bias on the public feature
// map. That map costs no privacy: docs/PRIVACY.md says why.
func strokesPreset(n, f int) params.Params {
	p := privateSettings(n, f)
	p.Model = params.Model{
		Kind: params.ModelSoftmax, Inputs: params.StrokesInputs, Classes: 10, Pool: 1, PixelScale: 255, NoBias: true,
		Features: inputs.Strokes(),
	}
	p.Training.LearningRate = 120 // in few rounds: see roundsFor
	if f > 1 {
		p.Training.LearningRate = 80 // a longer way of the model also leads attackers farther
	}
	return p
}

// pixelsPreset returns the preset "pixels": softmax regression on mean-pooled grey levels.
func pixelsPreset(n, f int) params.Params {
	p := privateSettings(n, f)
	p.Model = params.Model{Kind: params.ModelSoftmax, Inputs: 196, Classes: 10, Pool: 2, PixelScale: 255}
	return p
}

// mlpPreset returns the preset "mlp": the model with a hidden layer, on mean-pooled grey levels.
func mlpPreset(n, f int) params.Params {
	p := privateSettings(n, f)
	p.Model = params.Model{Kind: params.ModelMLP, Inputs: 196, Hidden: 32, Classes: 10, Pool: 2, PixelScale: 255}
	p.Training.LearningRate = 10
	return p
}

// privateSettings returns the settings that the presets with a guarantee share: epsilon 2, or 4 if
// f > 1; the rule agnostic-mean, or mean if n < 4; and commitments if f > 0. Without commitments
// attackers could read honest vectors first, and hide their own vectors in the noise of these.
func privateSettings(n, f int) params.Params {
	p := params.Params{
		Rule:     params.Rule{Name: "agnostic-mean", Byzantine: uint32(f)},
		Training: params.Training{Rounds: 100, LearningRate: 20},
		Privacy: params.Privacy{Mechanism: params.MechanismGaussian, Clip: 1, SamplingRate: 1, Epsilon: 2, Delta: Delta,
			NoiseFloor: true},
		Grid:       params.Grid{Width: uint32(gradients.Int8)},
		Reputation: reputation,
		Election:   election(f),
	}
	p.Election.CommitReveal = f > 0
	switch {
	case f > 1: // with more attackers, gradients stand out from the noise in fewer rounds, so reputations move faster
		p.Reputation.Penalty, p.Reputation.Reward = 100_000, 100_000
		p.Privacy.Epsilon = 4
	case n < 4: // with too few participants the rule cannot leave a neighbour out
		p.Rule.Name = "mean"
	}
	return p
}

// paperPreset returns the preset "paper", with the settings of the paper. Inputs and noise are the same as in the
// paper's prototype: the input is (x/100-0.5)/0.5 for a pixel x, and the noise gives no privacy.
func paperPreset(n, f int) params.Params {
	p := params.Params{
		Model:      params.Model{Kind: params.ModelSoftmax, Inputs: 784, Classes: 10, Pool: 1, PixelMean: 50, PixelScale: 50},
		Grid:       params.Grid{Width: uint32(gradients.Int16), Step: paperStep},
		Rule:       params.Rule{Name: "krum", Byzantine: uint32(f)},
		Training:   params.Training{Rounds: 100, LearningRate: 0.01, Momentum: 0.5, WeightDecay: 0.001},
		Privacy:    params.Privacy{Mechanism: params.MechanismPrototype, Batch: 100, PrototypeEpsilon: 0.02},
		Reputation: reputation,
		Election:   election(f),
	}
	if n < 4 {
		p.Rule.Name = "mean"
	}
	// A batch of 100 adds more noise to a gradient than the privacy noise of the other presets. An honest gradient
	// opposes Delta in up to a tenth of the rounds, so the reputation moves in smaller steps.
	p.Reputation.Penalty, p.Reputation.Reward = 40_000, 40_000
	return p
}

// reputation holds the settings that the presets share (docs/adr/0011-reputation-knows-the-noise.md
// has the measurements). A gradient counts as opposed if its scalar product with Delta is below
// -0.3 (Margin) times the typical squared norm. In the private presets no honest gradient is
// opposed, except in a few rounds at the start of heterogeneous trainings.
var reputation = params.Reputation{Initial: params.One, Penalty: 50_000, Reward: 50_000, Margin: 300_000,
	PassedOver: 100_000}

// election returns the presets' election settings for f Byzantine participants.
func election(f int) params.Election {
	e := params.Election{Term: 1}
	SetProposers(&e, f)
	return e
}

// SetProposers sets ViewBlocks and QuorumBlocks for f Byzantine proposers in succession. Such proposers may hide a
// leader's aggregate, so a view lasts f+1 heights. They may also leave out slow participants, so a round closes without
// a required participant only after at least f+1 heights, which include an honest proposer.
func SetProposers(e *params.Election, f int) {
	e.ViewBlocks, e.QuorumBlocks = uint64(f+1), uint64(max(2, f+1))
}

// SetRounds sets the number of rounds of a training. If the term was the whole training, the new
// term is the whole training too.
func SetRounds(p *params.Params, rounds uint64) {
	if p.Election.Term > 1 && p.Election.Term == p.Training.Rounds {
		p.Election.Term = rounds
	}
	p.Training.Rounds = rounds
}

// literalPreset returns the preset "paper-literal": the preset "paper", changed so that it follows the paper's text. It
// has no momentum and no weight decay. Krum's scores sum norms instead of squared norms. An absent participant counts
// as the zero vector. A participant loses reputation if its gradient is at more than 90 degrees to Delta, and never
// regains reputation. One leader leads the whole training. Only the noise differs from the text: it is the noise of the
// paper's prototype. docs/adr/0003-krum-as-published.md has the consequences.
func literalPreset(n, f int) params.Params {
	p := paperPreset(n, f)
	p.Training.Momentum, p.Training.WeightDecay = 0, 0
	p.Rule.Unsquared, p.Rule.Zeros = true, true
	p.Reputation = params.Reputation{Initial: params.One, Penalty: 100_000}
	p.Election.Term = p.Training.Rounds
	return p
}
