package attack

import (
	"math"

	"github.com/spdl/spdl/gradients"
)

// signFlip sends the negative of the attacker's own gradient, noise included.
type signFlip struct{}

func (signFlip) Name() string   { return "sign-flip" }
func (signFlip) Source() string { return "Li et al., AAAI 2019 (RSA): the own gradient, negated" }

func (signFlip) Craft(v View) []gradients.Vector {
	own := v.Own()
	return v.each(func(i int) gradients.Vector { return negated(own[i]) })
}

func negated(g gradients.Vector) gradients.Vector {
	out := gradients.NewVector(g.Width(), g.Len())
	for j := range g.Len() {
		out.Set(j, -g.At(j))
	}
	return out
}

// negatedMean sends -factor times the honest mean. All attackers send the same vector.
type negatedMean struct {
	name   string
	factor float64
}

func (a negatedMean) Name() string { return a.name }
func (negatedMean) Source() string {
	return "the honest mean, negated and scaled; Guerraoui et al., PODC 2021, on why noise helps it"
}

func (a negatedMean) Craft(v View) []gradients.Vector { return v.all(affine(nil, -a.factor, v.mean())) }

// noisyMean sends the negated honest mean plus noise as strong as that of the honest gradients.
// Each attacker adds noise of its own, or all attackers add the same noise.
type noisyMean struct {
	name   string
	shared bool
}

func (a noisyMean) Name() string { return a.name }
func (noisyMean) Source() string {
	return "the negated honest mean in the disguise of the honest gradients' noise"
}

func (a noisyMean) Craft(v View) []gradients.Vector {
	mean := v.mean()
	std := v.std(mean)
	draw := func(int) gradients.Vector {
		x := v.noise(1)
		for j := range x {
			x[j] = x[j]*std[j] - mean[j]
		}
		return v.vector(x)
	}
	if a.shared {
		same := draw(0)
		return v.each(func(int) gradients.Vector { return same })
	}
	return v.each(draw)
}

// ipm is inner product manipulation: the attackers send a vector opposite to the mean, short enough
// for the rule to select it.
type ipm struct{}

func (ipm) Name() string { return "ipm" }
func (ipm) Source() string {
	return "Xie et al., UAI 2019: -epsilon times the honest mean, epsilon = 0.1"
}

func (ipm) Craft(v View) []gradients.Vector { return v.all(affine(nil, -0.1, v.mean())) }

// alie is "a little is enough": the attackers send the mean, shifted by as many standard deviations
// as still leave a majority of honest gradients farther out.
type alie struct{}

func (alie) Name() string { return "alie" }
func (alie) Source() string {
	return "Baruch et al., NeurIPS 2019: mean - z std, z of the paper's majority argument"
}

func (alie) Craft(v View) []gradients.Vector {
	mean := v.mean()
	return v.all(affine(mean, -alieFactor(v.N, v.F), v.std(mean)))
}

// alieFactor returns z_max: s = floor(n/2+1)-f honest gradients are needed for a majority, so z is
// the standard normal quantile of (n-f-s)/(n-f).
func alieFactor(n, f int) float64 {
	s := n/2 + 1 - f
	share := float64(n-f-s) / float64(n-f)
	return math.Sqrt2 * math.Erfinv(2*min(max(share, 0.01), 0.99)-1)
}
