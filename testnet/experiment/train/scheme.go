package train

import (
	"fmt"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/privacy/accountant"
)

// The schemes of the paper. The rule of SPDL is Krum, as the paper writes. The program of the paper's authors computes
// multi-Krum, where f is the true number of attackers and not (N-1)/3. SPDLLiteral is the preset paper-literal.
const (
	Pure          = "PURE"
	DP            = "DP"
	SPDL          = "SPDL"
	SPDLMulti     = "SPDL (multi-Krum)"
	SPDLPrototype = "SPDL (prototype)"
	SPDLLiteral   = "SPDL (literal)"
)

// Schemes lists the schemes that figures compare.
func Schemes() []string { return []string{Pure, DP, SPDL, SPDLMulti, SPDLLiteral} }

// Paper returns a training of the paper's preset under a scheme.
func Paper(name string, n int) (Spec, error) {
	from := map[bool]string{true: "paper-literal", false: "paper"}[name == SPDLLiteral]
	p, err := preset.New(from, n)
	if err != nil {
		return Spec{}, err
	}
	switch name {
	case Pure:
		p.Rule.Name = "mean"
		p.Privacy.Mechanism, p.Privacy.PrototypeEpsilon = params.MechanismNone, 0
	case DP:
		p.Rule.Name = "mean"
	case SPDL:
		p.Rule.Name = "krum"
	case SPDLMulti:
		p.Rule.Name = "multi-krum"
	case SPDLPrototype: // until Attacked sets the number of attackers
		p.Rule.Name, p.Rule.Byzantine = "multi-krum", 0
	case SPDLLiteral:
	default:
		return Spec{}, fmt.Errorf("unknown scheme %q", name)
	}
	return Spec{Params: p, Nodes: n, Every: 1}, nil
}

// Attacked returns a training of a scheme of the paper in which a number of participants attack.
func Attacked(name string, n, byzantine int, attack string) (Spec, error) {
	s, err := Paper(name, n)
	if s.Byzantine = byzantine; byzantine > 0 {
		s.Attack = attack
	}
	if name == SPDLPrototype {
		s.Params.Rule.Byzantine = uint32(byzantine)
	}
	return s, err
}

// Preset returns a training of a preset without changes.
func Preset(name string, n int) (Spec, error) {
	p, err := preset.New(name, n)
	return Spec{Params: p, Nodes: n}, err
}

// Private returns a training of the default preset under a rule, with the rounds and the noise that
// the preset takes for epsilon. rounds replaces its rounds, unless it is 0.
func Private(rule string, n int, epsilon float64, rounds uint64) (Spec, error) {
	p, err := preset.Make("default", n, preset.Own{Epsilon: epsilon, Rounds: rounds})
	p.Rule.Name = rule
	return Spec{Params: p, Nodes: n, Every: 5}, err
}

// Lemma1 gives a training of the paper the noise for which Lemma 1 claims an epsilon.
func Lemma1(s Spec, claim float64) (Spec, error) {
	preset.WithLemma1(&s.Params, claim)
	err := preset.Account(&s.Params)
	return s, err
}

// Honest gives a training of the paper the noise that the accountant requires for epsilon, at the
// preset's delta and over its rounds. Its batches are secret ones of the same expected size, or
// batches of fixed size, for which the accountant assumes the whole data set.
func Honest(s Spec, epsilon float64, secret bool) (Spec, error) {
	p := &s.Params
	preset.WithLemma1(p, 0) // for its clip norm
	if secret {
		p.Privacy.SamplingRate = float64(p.Privacy.Batch) * float64(s.Nodes) / examples
	}
	rate := preset.MechanismOf(p.Privacy).SamplingRate
	z, err := accountant.NoiseMultiplier(accountant.RDP, rate, int(p.Training.Rounds), epsilon*0.995, preset.Delta)
	if err != nil {
		return s, err
	}
	p.Privacy.NoiseMultiplier, p.Privacy.Epsilon = z, epsilon
	Regrid(p)
	err = preset.Account(p)
	return s, err
}

// examples is the number of training examples of MNIST, which the participants share.
const examples = 60000

// Noiseless removes noise and noise floor from a private training. Its grid spans four times the
// clip norm, as the paper preset's does.
func Noiseless(s Spec) (Spec, error) {
	p := &s.Params
	p.Privacy.Mechanism, p.Privacy.NoiseMultiplier, p.Privacy.Epsilon, p.Privacy.NoiseFloor = params.MechanismNone, 0, 0,
		false
	p.Grid = params.Grid{Width: uint32(gradients.Int16), Step: fine(p.Privacy)}
	err := preset.Account(p)
	return s, err
}

// fine returns the step of a 16-bit grid that spans four times the clip norm.
func fine(p params.Privacy) float64 { return 4 * p.Clip / (1 << 15) }
