package attack

import (
	"math"

	"github.com/spdl/spdl/gradients"
)

// signFlip sends the negative of the attacker's own gradient, noise included.
func signFlip(v View) []gradients.Vector {
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
func negatedMean(name string, factor float64) crafted {
	return crafted{name, "the honest mean, negated and scaled; Guerraoui et al., PODC 2021, on why noise helps it",
		func(v View) []gradients.Vector { return v.all(affine(nil, -factor, v.mean())) }}
}

// noisyMean sends the negated honest mean plus noise as strong as that of the honest gradients.
// Each attacker adds noise of its own.
func noisyMean(v View) []gradients.Vector { return v.each(v.inNoise()) }

// sharedNoisyMean is noisyMean with the same noise for all attackers.
func sharedNoisyMean(v View) []gradients.Vector {
	same := v.inNoise()(0)
	return v.each(func(int) gradients.Vector { return same })
}

// inNoise returns a function that draws vectors of noisyMean.
func (v View) inNoise() func(int) gradients.Vector {
	mean := v.mean()
	std := v.std(mean)
	return func(int) gradients.Vector {
		x := v.noise(1)
		for j := range x {
			x[j] = x[j]*std[j] - mean[j]
		}
		return v.vector(x)
	}
}

// ipm is inner product manipulation: the attackers send a vector opposite to the mean, short enough
// for the rule to select it.
func ipm(v View) []gradients.Vector { return v.all(affine(nil, -0.1, v.mean())) }

// alie is "a little is enough": the attackers send the mean, shifted by as many standard deviations
// as still leave a majority of honest gradients farther out.
func alie(v View) []gradients.Vector {
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
