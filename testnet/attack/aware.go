package attack

import (
	"math"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/gradients"
)

// Aware returns the variant of an attack that respects the chain's noise floor (rule G6). It scales
// down a vector that is too long, and hides a vector that is too short in noise of its own, as
// strong as an honest vector's. Without this the chain would reject most attacks before any rule
// sees them. On a chain without the floor the variant sends the attack's own vectors.
func Aware(a Attack) Attack { return aware{a} }

type aware struct{ Attack }

func (a aware) Name() string { return AwarePrefix + a.Attack.Name() }

func (a aware) Craft(v View) []gradients.Vector { return v.admitted(a.Attack.Craft(v)) }

// Poison returns the label of the inner attack.
func (a aware) Poison(label uint8, classes int) uint8 {
	if p, ok := a.Attack.(Poisoner); ok {
		return p.Poison(label, classes)
	}
	return label
}

// Admission returns the squared norms that a chain admits in a round from a participant that has
// taken part in every round, and the distance floor of its rule. Without the noise floor it returns
// the zero Range, which admits all norms, and 0.
func Admission(p params.Params, round uint64) (admits Range, distance int64) {
	if !p.Privacy.NoiseFloor {
		return Range{}, 0
	}
	n := p.Noise()
	t := int(round) + 1
	admits.Least, admits.Greatest = n.Bounds(t, t)
	return admits, n.Distance(t)
}

// admitted brings vectors into the admitted range of norms. Each attacker hides in noise of its
// own, because the distance floor would detect shared noise.
func (v View) admitted(crafted []gradients.Vector) []gradients.Vector {
	if v.Admits == (Range{}) {
		return crafted
	}
	out := make([]gradients.Vector, len(crafted))
	for i, c := range crafted {
		switch {
		case c.Len() == 0 || v.Admits.Holds(c):
			out[i] = c
		case c.SquaredNorm() > v.Admits.Greatest:
			out[i] = v.shortened(c)
		default:
			out[i] = v.hidden(c)
		}
	}
	return out
}

// shortened scales a vector to just below the max norm. Rounding to the grid may add a little, so
// it tries up to 8 scales until the vector fits.
func (v View) shortened(c gradients.Vector) gradients.Vector {
	target := 0.98 * math.Sqrt(float64(v.Admits.Greatest))
	x := make([]float64, c.Len())
	for range 8 {
		scale := target / math.Sqrt(float64(c.SquaredNorm()))
		for j := range x {
			x[j] = scale * float64(c.At(j))
		}
		if q := v.vector(x); v.Admits.Holds(q) {
			return q
		}
		target *= 0.97
	}
	return v.vector(x)
}

// hidden adds noise, roughly at a right angle, until the norm is a little above the minimum.
func (v View) hidden(c gradients.Vector) gradients.Vector {
	least := float64(v.Admits.Least) * 1.1
	x := make([]float64, c.Len())
	for range 8 {
		std := math.Sqrt(max(0, least-float64(c.SquaredNorm())) / float64(c.Len()))
		noise := v.noise(std)
		for j := range x {
			x[j] = float64(c.At(j)) + noise[j]
		}
		if q := v.vector(x); v.Admits.Holds(q) {
			return q
		}
		least *= 1.03
	}
	return v.vector(x)
}
