package train

import (
	"fmt"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/privacy/accountant"
)

// The schemes of the paper. SPDL's rule is Krum, as the paper writes; what its
// prototype computes is multi-Krum.
const (
	Pure      = "PURE"
	DP        = "DP"
	SPDL      = "SPDL"
	SPDLMulti = "SPDL (multi-Krum)"
)

// Schemes lists the schemes that figures compare.
func Schemes() []string { return []string{Pure, DP, SPDL, SPDLMulti} }

// Paper returns a training of the paper's preset under a scheme.
func Paper(name string, n int) (Spec, error) {
	p, err := preset.New("paper", n)
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
	default:
		return Spec{}, fmt.Errorf("unknown scheme %q", name)
	}
	return Spec{Params: p, Nodes: n, Every: 1}, nil
}

// Preset returns a training of a preset as it is.
func Preset(name string, n int) (Spec, error) {
	p, err := preset.New(name, n)
	return Spec{Params: p, Nodes: n}, err
}

// Private returns a training of the default preset's model and noise floor under a
// rule, with the noise that its rounds need for epsilon at the preset's delta.
func Private(rule string, n int, epsilon float64) (Spec, error) {
	p, err := preset.New("default", n)
	if err != nil {
		return Spec{}, err
	}
	p.Rule.Name = rule
	z, err := accountant.NoiseMultiplier(accountant.RDP, p.Privacy.SamplingRate, int(p.Training.Rounds), epsilon*0.995, preset.Delta)
	if err != nil {
		return Spec{}, err
	}
	// Much noise needs a smaller step.
	p.Training.LearningRate *= min(1, epsilon/2)
	p.Privacy.NoiseMultiplier, p.Privacy.Epsilon = z, epsilon
	Regrid(&p)
	err = preset.Account(&p)
	return Spec{Params: p, Nodes: n, Every: 10}, err
}

// Noiseless removes noise and noise floor from a private training. Its grid spans four times the
// clip bound, as the paper preset's does.
func Noiseless(s Spec) (Spec, error) {
	p := &s.Params
	p.Privacy.Mechanism, p.Privacy.NoiseMultiplier, p.Privacy.Epsilon, p.Privacy.NoiseFloor = params.MechanismNone, 0, 0, false
	p.Grid = params.Grid{Width: uint32(gradients.Int16), Step: fine(p.Privacy)}
	err := preset.Account(p)
	return s, err
}

// fine is the step of a 16-bit grid that spans four times the clip bound.
func fine(p params.Privacy) float64 { return 4 * p.Clip / (1 << 15) }

// MaxByzantine returns the largest number of Byzantine participants with N >= 3f+1.
func MaxByzantine(n int) int { return (n - 1) / 3 }
