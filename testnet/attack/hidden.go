package attack

import (
	"math"

	"github.com/spdl/spdl/gradients"
)

// hidden is the attack of participants that push along the gradient u of a goal and hide u in noise like that of honest
// vectors. They compute u on their own rows and without noise. They send alpha times the honest mean m plus k times u,
// and add noise until the vector has the norm that the chain requires. A search on the chain's own rule finds the alpha
// and k with the largest <Delta, u>.
type hidden struct {
	goal Goal
	// late says that the attackers do not see the round's honest vectors, and use those of the
	// previous round. In the first round they imagine them.
	late bool
	// planned says that the attackers push along the slope at the model in which they expect the
	// training to end, and so in nearly the same direction in every round.
	planned bool
	// noisy says that each attacker adds noise of its own, so that no two of their vectors are
	// close to each other. The noise of all attackers sums to nearly zero, so that their mean has
	// hardly any. Otherwise all attackers add the same noise, that of the honest mean.
	noisy bool
}

// hiddens lists the goals with their variants.
func hiddens() []Attack {
	var all []Attack
	for _, g := range Goals {
		for _, planned := range []bool{false, true} {
			for _, noisy := range []bool{false, true} {
				all = append(all, hidden{goal: g, planned: planned, noisy: noisy},
					hidden{goal: g, planned: planned, noisy: noisy, late: true})
			}
		}
	}
	return all
}

func (a hidden) Name() string {
	name := "hidden-" + a.goal.Name
	if a.planned {
		name += "+planned"
	}
	if a.noisy {
		name += "+own-noise"
	}
	if a.late {
		name += "+late"
	}
	return name
}

func (hidden) Source() string {
	return "ours: a noise-free push in the honest mean's noise; the line search of Shejwalkar and Houmansadr, NDSS " +
		"2021, on the goal"
}

func (a hidden) Craft(v View) []gradients.Vector {
	if a.late && !v.Late && v.Memory != nil {
		seen := v.Memory.honest
		v.Memory.honest = v.Honest
		if v.Honest = seen; seen == nil {
			v.Honest = v.Imagined()
		}
	}
	at := v.Model
	if a.planned {
		at = v.Expected()
	}
	u := normal(v.Slope(a.goal, at))
	if a.goal.Flat {
		u = normal(v.uncurved(u, at))
	}
	if Dot(u, u) == 0 {
		return v.Own()
	}
	d := disguise{View: v, u: u, mean: v.mean(), least: math.Sqrt(1.01 * float64(v.Admits.Least))}
	if a.noisy {
		d.fills = d.ownNoise()
	} else {
		d.fills = [][]float64{d.sharedNoise()}
	}
	return d.search()
}

// disguise holds what the hidden attackers need to make their vectors in a round.
type disguise struct {
	View
	u, mean []float64
	least   float64     // norm that is certainly admitted; 0 if all norms are
	fills   [][]float64 // directions of length 1 at a right angle to u: one for each attacker, or one for all
}

// sharedNoise returns the direction of the honest mean without its components along the honest
// slope and along u. To the attackers, that direction looks like noise.
func (d disguise) sharedNoise() []float64 {
	return normal(without(without(d.mean, normal(d.Slope(Goal{Deltas: crossEntropy}, d.Model))), d.u))
}

// ownNoise returns a direction for each attacker. The directions sum to nearly zero, unless there is only one attacker.
func (d disguise) ownNoise() [][]float64 {
	fills := make([][]float64, d.F)
	sum := make([]float64, d.dim())
	for i := range fills {
		fills[i] = without(d.noise(1), d.u)
		sum = affine(sum, 1, fills[i])
	}
	for i := range fills {
		if d.F > 1 {
			fills[i] = affine(fills[i], -1/float64(d.F), sum)
		}
		fills[i] = normal(fills[i])
	}
	return fills
}

// without returns x minus its component along a direction of length 1.
func without(x, direction []float64) []float64 { return affine(x, -Dot(x, direction), direction) }

// craft returns the attackers' vectors for a pair of alpha and k, nil if the chain would reject one of them.
func (d disguise) craft(alpha, k float64) []gradients.Vector {
	base := affine(affine(nil, alpha, d.mean), k, d.u)
	made := make([]gradients.Vector, len(d.fills))
	for i, fill := range d.fills {
		x := base
		if far := d.fill(base, fill); far > 0 {
			x = affine(base, far, fill)
		}
		if made[i] = d.vector(x); !d.Admits.Holds(made[i]) {
			return nil
		}
	}
	return d.each(func(i int) gradients.Vector { return made[min(i, len(made)-1)] })
}

// noiseShare is the norm of an attacker's own noise, as a share of the min admitted norm.
const noiseShare = 0.96

// fill returns the distance that x must move along a direction to reach the norm least, 0 if it is
// long enough. With noise of its own, an attacker moves x by at least noiseShare of that norm, so
// that its vector differs from those of the other attackers.
func (d disguise) fill(x, direction []float64) float64 {
	var far float64
	if len(d.fills) > 1 {
		far = noiseShare * d.least
	}
	along := Dot(x, direction)
	if lacks := d.least*d.least - Dot(x, x); lacks > 0 {
		far = max(far, math.Sqrt(along*along+lacks)-along)
	}
	return far
}

// alphas is the first grid of the search for alpha. The grid for k is geometric, with the factor growth.
// It begins at mostShare of the max admitted norm, and ends at leastShare of the min admitted norm, or
// of an honest vector's norm if that is smaller. The search then refines the grid around the best pair.
var alphas = []float64{0, 0.5, 1, 1.5, 2, 3}

const leastShare, mostShare, growth = 0.05, 0.99, 1.25

// greatest returns the max norm of a vector that the chain admits.
func (v View) greatest() float64 {
	if v.Admits == (Range{}) {
		return math.Sqrt(float64(v.dim())) * float64(v.width().Max())
	}
	return math.Sqrt(float64(v.Admits.Greatest))
}

// search returns the vectors of the best pair that it finds. It tries a grid because the gain is
// not a smooth function of the pair: the gain drops where the rule begins to detect the attack.
func (d disguise) search() []gradients.Vector {
	first := math.Sqrt(float64(d.Honest[0].SquaredNorm()))
	if d.least > 0 {
		first = min(first, d.least)
	}
	var best []gradients.Vector
	most, at := math.Inf(-1), [2]float64{}
	try := func(alpha, k float64) {
		if alpha < 0 || k <= 0 {
			return
		}
		crafted := d.craft(alpha, k)
		if crafted == nil {
			return
		}
		if g := d.gain(crafted); g > most {
			most, best, at = g, crafted, [2]float64{alpha, k}
		}
	}
	for _, alpha := range alphas {
		for k := mostShare * d.greatest(); k > leastShare*max(first, 1); k /= growth {
			try(alpha, k)
		}
	}
	for i, da, dk := 0, 0.25, at[1]*(growth-1)/2; i < refinements; i, da, dk = i+1, da/2, dk/2 {
		alpha, k := at[0], at[1]
		for _, step := range [][2]float64{{-da, 0}, {da, 0}, {0, -dk}, {0, dk}} {
			try(alpha+step[0], k+step[1])
		}
	}
	if best == nil { // the chain rejects them all
		return d.Own()
	}
	return best
}

// gain returns <Delta, u>, or minus infinity if the rule has no output.
func (d disguise) gain(crafted []gradients.Vector) float64 {
	delta, ok := d.aggregate(crafted)
	if !ok {
		return math.Inf(-1)
	}
	var sum float64
	for j, num := range delta.Num {
		sum += float64(num) * d.u[j]
	}
	return sum / float64(delta.Den)
}
