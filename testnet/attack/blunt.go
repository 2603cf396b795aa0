package attack

import (
	"math"

	"github.com/spdl/spdl/gradients"
)

// Prototype names the attack in the program of the paper's authors (github.com/isSPDL/SPDL):
// PrototypeValue in every coordinate.
const (
	Prototype      = "constant"
	PrototypeValue = 1e7
)

// constant is the attack in the program of the paper's authors. Its value is far beyond the end of
// the grid, so each coordinate becomes the grid's largest number.
type constant struct{}

func (constant) Name() string   { return Prototype }
func (constant) Source() string { return "the paper's prototype: 1e7 in every coordinate" }

func (constant) Craft(v View) []gradients.Vector {
	x := make([]float64, v.dim())
	for j := range x {
		x[j] = PrototypeValue / v.Grid.Step
	}
	return v.all(x)
}

// saturation sends the grid's largest number in every coordinate, with the sign opposite to the
// honest mean's: the longest vector that opposes the mean.
type saturation struct{}

func (saturation) Name() string   { return "saturation" }
func (saturation) Source() string { return "the longest vector of the grid, against the mean" }

func (saturation) Craft(v View) []gradients.Vector {
	x := v.mean()
	for j := range x {
		x[j] = math.Copysign(math.Inf(1), -x[j])
	}
	return v.all(x)
}

// gaussian sends only noise, ten times as strong as an honest gradient.
type gaussian struct{}

func (gaussian) Name() string { return "gaussian" }
func (gaussian) Source() string {
	return "Blanchard et al., NIPS 2017, section 6: a Gaussian of large variance"
}

func (gaussian) Craft(v View) []gradients.Vector {
	scale := 10 * math.Sqrt(float64(v.Honest[0].SquaredNorm())/float64(v.dim()))
	return v.each(func(int) gradients.Vector { return v.vector(v.noise(scale)) })
}

// noise returns a vector of Gaussian noise with a standard deviation in grid steps.
func (v View) noise(std float64) []float64 {
	x := make([]float64, v.dim())
	for j := range x {
		x[j] = std * v.Rand.NormFloat64()
	}
	return x
}

// zero sends the zero vector, which Krum favours because it is close to all gradients.
type zero struct{}

func (zero) Name() string   { return "zero" }
func (zero) Source() string { return "the zero vector" }

func (zero) Craft(v View) []gradients.Vector { return v.all(make([]float64, v.dim())) }

// silence sends nothing.
type silence struct{}

func (silence) Name() string   { return "silent" }
func (silence) Source() string { return "no gradient at all" }

func (silence) Craft(v View) []gradients.Vector { return make([]gradients.Vector, v.F) }
