package attack

import (
	"math"
	"math/rand/v2"

	"gonum.org/v1/gonum/floats"

	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/krum/rules"
)

// Attack makes the vectors that F colluding Byzantine participants send in place of their
// gradients, as a pure function of their view. It is the adversary of the paper, who knows the
// rule, and knows every honest gradient of the round before sending a gradient.
type Attack interface {
	// Name is the attack's name in experiments.
	Name() string
	// Source cites where the attack was published, for documents.
	Source() string
	// Craft returns F vectors in participant order. A zero Vector means that the participant sends nothing. Craft takes
	// randomness only from the view's Rand, and does not change the view's vectors.
	Craft(View) []gradients.Vector
}

// Poisoner is an attack whose participants train on changed labels.
type Poisoner interface {
	// Poison returns the label with which the attackers train on an example.
	Poison(label uint8, classes int) uint8
}

// View is the knowledge of a round's attackers. Participants 0 to F-1 are the attackers, and F to
// N-1 are honest. Ties are settled by position, so the attackers win every tie.
type View struct {
	N, F  int
	Round uint64
	// Honest holds the honest vectors of the round. If Late is set, it holds those of the previous
	// round, and in the first round those of Imagined: on a chain with commitments, an attacker cannot
	// wait for the round's vectors and still take part.
	Honest []gradients.Vector
	Late   bool
	// Own returns the vectors that the attackers' own workers made, with their noise. The workers
	// train at the first call, so attacks that do not call Own cost no training.
	Own func() []gradients.Vector
	// Imagined returns vectors like those of the N-F honest participants at the model, made from the
	// attackers' own rows. Late attackers hide among them in the first round.
	Imagined func() []gradients.Vector
	Grid     gradients.Grid
	// Model is the public model. Slope returns the noise-free gradient of a goal at a model, on the
	// attackers' own rows; its scale does not matter.
	Model []float64
	Slope func(g Goal, at []float64) []float64
	// Expected returns the model in which the attackers' own training ends, without noise.
	Expected func() []float64
	// Rule names the chain's rule. Input is its input without the vectors; its F need not be the number of attackers.
	Rule  string
	Input rules.Input
	// Admits holds the squared norms that the chain admits, in squared grid steps; the zero Range admits all.
	Admits Range
	Rand   *rand.Rand
	// Memory is the attackers' state from round to round, or nil.
	Memory *Memory
}

// Memory is the state of attacks. The first round begins with its zero value.
type Memory struct {
	mimicry mimicry
	honest  []gradients.Vector // of the previous round
}

// Range is a closed interval of squared norms; the zero Range admits all.
type Range struct{ Least, Greatest int64 }

// Holds reports whether the chain admits a vector.
func (r Range) Holds(v gradients.Vector) bool {
	if r == (Range{}) {
		return true
	}
	norm := v.SquaredNorm()
	return norm >= r.Least && norm <= r.Greatest
}

// dim returns d, the number of coordinates.
func (v View) dim() int { return v.Honest[0].Len() }

// width returns the width of the grid's coordinates.
func (v View) width() gradients.Width { return v.Honest[0].Width() }

// mean returns the honest gradients' mean, in grid steps.
func (v View) mean() []float64 {
	m := make([]float64, v.dim())
	sum := gradients.Mean(v.Honest)
	for j := range m {
		m[j] = float64(sum.Num[j]) / float64(sum.Den)
	}
	return m
}

// std returns the honest gradients' standard deviation in each coordinate, in grid steps, about their mean.
func (v View) std(mean []float64) []float64 {
	s := make([]float64, v.dim())
	for _, h := range v.Honest {
		for j := range s {
			d := float64(h.At(j)) - mean[j]
			s[j] += d * d
		}
	}
	for j := range s {
		s[j] = math.Sqrt(s[j] / float64(len(v.Honest)))
	}
	return s
}

// vector rounds x to the grid. Values beyond the grid become its largest number.
func (v View) vector(x []float64) gradients.Vector {
	q := gradients.NewVector(v.width(), len(x))
	gradients.Grid{Width: v.width(), Step: 1}.Quantize(q, x)
	return q
}

// all returns one vector, rounded to the grid, for every attacker.
func (v View) all(x []float64) []gradients.Vector {
	q := v.vector(x)
	out := make([]gradients.Vector, v.F)
	for i := range out {
		out[i] = q
	}
	return out
}

// each returns the vector that craft makes for each attacker.
func (v View) each(craft func(i int) gradients.Vector) []gradients.Vector {
	out := make([]gradients.Vector, v.F)
	for i := range out {
		out[i] = craft(i)
	}
	return out
}

// affine returns a + k*b; a nil a is zero.
func affine(a []float64, k float64, b []float64) []float64 {
	if a == nil {
		a = make([]float64, len(b))
	}
	return floats.AddScaledTo(make([]float64, len(b)), a, k, b)
}
