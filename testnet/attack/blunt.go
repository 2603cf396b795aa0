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
func constant(v View) []gradients.Vector {
	x := make([]float64, v.dim())
	for j := range x {
		x[j] = PrototypeValue / v.Grid.Step
	}
	return v.all(x)
}

// saturation sends the grid's largest number in every coordinate, with the sign opposite to the
// honest mean's: the longest vector that opposes the mean.
func saturation(v View) []gradients.Vector {
	x := v.mean()
	for j := range x {
		x[j] = math.Copysign(math.Inf(1), -x[j])
	}
	return v.all(x)
}

// gaussian sends only noise, ten times as strong as an honest gradient.
func gaussian(v View) []gradients.Vector {
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
func zero(v View) []gradients.Vector { return v.all(make([]float64, v.dim())) }

// silence sends nothing.
func silence(v View) []gradients.Vector { return make([]gradients.Vector, v.F) }
