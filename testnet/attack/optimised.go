package attack

import (
	"math/rand/v2"
	"slices"

	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/krum/rules"
)

// optimised sends mean - k*direction, with the k that moves the rule's own output farthest from the honest mean. Its
// line search evaluates the rule on all honest gradients, which the attackers know.
type optimised func(mean, std []float64) []float64

// againstMean returns the direction of the family mean - k*mean, to which IPM belongs.
func againstMean(mean, _ []float64) []float64 { return mean }

// alongDeviation returns the direction of the family mean - k*std, to which ALIE belongs.
func alongDeviation(_, std []float64) []float64 { return std }

// factors holds the values of k that the search tries first. It then halves the interval around the best k, refinements
// times. The damage is not a smooth function of k: it drops to nothing where the rule begins to detect the attack.
var factors = []float64{0.1, 0.25, 0.5, 1, 1.5, 2, 3, 5, 9, 16, 32}

const refinements = 5

func (along optimised) craft(v View) []gradients.Vector {
	mean := v.mean()
	direction := along(mean, v.std(mean))
	noise := v.Rand.Uint64() // one seed for every k, so that the search compares k and not the noise
	var best []gradients.Vector
	most, at := -1.0, 0.0
	try := func(k float64) {
		v.Rand = rand.New(rand.NewPCG(noise, 0))
		crafted := v.admitted(v.all(affine(mean, -k, direction)))
		if d := v.damage(crafted, mean); d > most {
			most, best, at = d, crafted, k
		}
	}
	for _, k := range factors {
		try(k)
	}
	i := slices.Index(factors, at)
	low, high := append([]float64{0}, factors...)[i], append(slices.Clone(factors[1:]), 2*at)[i]
	for range refinements {
		k := at
		below, above := (low+k)/2, (k+high)/2
		try(below)
		try(above)
		switch at {
		case below:
			high = k
		case above:
			low = k
		default:
			low, high = below, above
		}
	}
	return best
}

// damage returns the squared distance, in squared grid steps, from the rule's output to the honest
// mean, 0 if the rule has no output.
func (v View) damage(crafted []gradients.Vector, mean []float64) float64 {
	delta, ok := v.aggregate(crafted)
	if !ok {
		return 0
	}
	var sum float64
	for j, m := range mean {
		d := float64(delta.Num[j])/float64(delta.Den) - m
		sum += d * d
	}
	return sum
}

// aggregate returns the output of the chain's rule on the admitted crafted vectors and the honest vectors.
func (v View) aggregate(crafted []gradients.Vector) (delta gradients.Fraction, ok bool) {
	rule, err := rules.Lookup(v.Rule)
	if err != nil {
		return delta, false
	}
	in := v.Input
	for _, c := range crafted {
		if c.Len() > 0 && v.Admits.Holds(c) {
			in.Vectors = append(in.Vectors, c)
		}
	}
	in.Vectors = append(in.Vectors, v.Honest...)
	out, err := rule.Aggregate(in)
	return out.Delta, err == nil
}
