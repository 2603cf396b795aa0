package experiment

import (
	"fmt"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/privacy/accountant"
	"github.com/spdl/spdl/testnet/experiment/learn"
)

// The schemes of the paper. SPDL's rule is Krum, as the paper writes; what its
// prototype computes is multi-Krum.
const (
	pure      = "PURE"
	dp        = "DP"
	spdl      = "SPDL"
	spdlMulti = "SPDL (multi-Krum)"
)

// schemes are those that figures compare.
var schemes = []string{pure, dp, spdl, spdlMulti}

// paper is a training of the paper's preset under a scheme.
func (o Options) paper(scheme string, n int) (learn.Spec, error) {
	p, err := preset.New("paper", n)
	if err != nil {
		return learn.Spec{}, err
	}
	switch scheme {
	case pure:
		p.Rule.Name = "mean"
		p.Privacy.Mechanism, p.Privacy.PrototypeEpsilon = app.MechanismNone, 0
	case dp:
		p.Rule.Name = "mean"
	case spdl:
		p.Rule.Name = "krum"
	case spdlMulti:
		p.Rule.Name = "multi-krum"
	default:
		return learn.Spec{}, fmt.Errorf("unknown scheme %q", scheme)
	}
	s := learn.Spec{Params: p, Nodes: n, Every: 1}
	if o.Quick {
		s.Params.Training.Rounds, s.Every = 20, 5
	}
	return s, nil
}

// private is a training of the default preset's model and noise floor under a
// rule, with the noise that its rounds need for epsilon at the preset's delta. The
// rounds of a quick run are fewer, and their noise is that of all rounds.
func (o Options) private(rule string, n int, epsilon float64) (learn.Spec, error) {
	p, err := preset.New("default", n)
	if err != nil {
		return learn.Spec{}, err
	}
	p.Rule.Name = rule
	z, err := accountant.NoiseMultiplier(accountant.RDP, p.Privacy.SamplingRate, int(p.Training.Rounds), epsilon*0.995, preset.Delta)
	if err != nil {
		return learn.Spec{}, err
	}
	// Below epsilon 1 the noise asks for a smaller step, as LEARNING measured.
	p.Training.LearningRate = 20 * min(1, epsilon)
	p.Privacy.NoiseMultiplier, p.Privacy.Epsilon = z, epsilon
	learn.Regrid(&p)
	if err := preset.Account(&p); err != nil {
		return learn.Spec{}, err
	}
	s := learn.Spec{Params: p, Nodes: n, Every: 10}
	if o.Quick {
		s.Params.Training.Rounds = 20
	}
	return s, nil
}

// noiseless takes noise and noise floor out of a private training. Its grid spans
// the clip bound four times, as the paper preset's does.
func noiseless(s learn.Spec) (learn.Spec, error) {
	p := &s.Params
	p.Privacy.Mechanism, p.Privacy.NoiseMultiplier, p.Privacy.Epsilon, p.Privacy.NoiseFloor = app.MechanismNone, 0, 0, false
	p.Grid = app.Grid{Width: uint32(gradients.Int16), Step: 4 * p.Privacy.Clip / (1 << 15)}
	err := preset.Account(p)
	return s, err
}

// byzantineOf is the largest number of Byzantine participants with N >= 3f+1.
func byzantineOf(n int) int { return (n - 1) / 3 }
