package attack

import (
	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/krum/rules"
)

// optimised sends mean - k*direction with the k that moves the rule's own
// output farthest from the honest mean: a line search that evaluates the rule,
// as an attacker can who knows every honest gradient.
type optimised struct {
	name      string
	direction func(mean, std []float64) []float64
}

func (a optimised) Name() string { return a.name }
func (optimised) Source() string {
	return "Shejwalkar and Houmansadr, NDSS 2021; the line search of Allouah et al., AISTATS 2023, section 6"
}

// againstMean makes mean - k*mean, which is IPM's family.
func againstMean(mean, _ []float64) []float64 { return mean }

// alongDeviation makes mean - k*std, which is ALIE's family.
func alongDeviation(_, std []float64) []float64 { return std }

// factors are the k that are tried first; the best is then refined between its
// neighbours.
var factors = []float64{0.25, 0.5, 1, 1.5, 2, 3, 5, 9, 16}

func (a optimised) Craft(v View) []gradients.Vector {
	mean := v.mean()
	direction := a.direction(mean, v.std(mean))
	var best []gradients.Vector
	most, at := -1.0, 0
	try := func(k float64) bool {
		crafted := v.admitted(v.all(affine(mean, -k, direction)))
		if d := v.damage(crafted, mean); d > most {
			most, best = d, crafted
			return true
		}
		return false
	}
	for i, k := range factors {
		if try(k) {
			at = i
		}
	}
	low, high := factors[max(at-1, 0)], factors[min(at+1, len(factors)-1)]
	try((low + factors[at]) / 2)
	try((factors[at] + high) / 2)
	return best
}

// damage is the squared distance, in squared grid steps, from the rule's output
// to the honest mean, 0 where the rule has none.
func (v View) damage(crafted []gradients.Vector, mean []float64) float64 {
	var included []gradients.Vector
	for _, c := range crafted {
		if v.Admits.Holds(c) {
			included = append(included, c)
		}
	}
	rule, err := rules.Lookup(v.Rule)
	if err != nil {
		return 0
	}
	out, err := rule.Aggregate(rules.Input{N: v.N, F: v.F, Vectors: append(included, v.Honest...), Floor: v.Floor, Seed: v.Seed})
	if err != nil {
		return 0
	}
	var sum float64
	for j, m := range mean {
		d := float64(out.Delta.Num[j])/float64(out.Delta.Den) - m
		sum += d * d
	}
	return sum
}
