package attack

import (
	"math"

	"github.com/spdl/spdl/gradients"
)

// within sends mean - k*std. It takes the largest k with which its distances are no larger than
// those between honest gradients, whatever the rule is.
// within returns that k; offset holds mean - x_i for each honest x_i.
type within func(v View, offset [][]float64, std []float64) float64

func (reach within) craft(v View) []gradients.Vector {
	mean := v.mean()
	std := v.std(mean)
	offset := make([][]float64, len(v.Honest))
	for i, h := range v.Honest {
		offset[i] = difference(h, mean)
		for j := range offset[i] {
			offset[i][j] = -offset[i][j]
		}
	}
	return v.all(affine(mean, -reach(v, offset, std), std))
}

// minMax keeps the attack's distance to every honest gradient below the largest distance between
// two honest gradients: |o - k s|^2 <= D, a quadratic in k for each offset o.
func minMax(v View, offset [][]float64, std []float64) float64 {
	var most float64
	for i, a := range v.Honest {
		for _, b := range v.Honest[:i] {
			most = max(most, float64(gradients.SquaredDistance(a, b)))
		}
	}
	length, reach := Dot(std, std), math.Inf(1)
	for _, o := range offset {
		half := Dot(o, std)
		reach = min(reach, root(length, half, Dot(o, o)-most))
	}
	return reach
}

// minSum keeps the sum of the attack's squared distances to the honest gradients below the largest
// such sum of an honest gradient. The offsets' sum is zero.
func minSum(v View, offset [][]float64, std []float64) float64 {
	var most, own float64
	for i, a := range v.Honest {
		var sum float64
		for _, b := range v.Honest {
			sum += float64(gradients.SquaredDistance(a, b))
		}
		most = max(most, sum)
		own += Dot(offset[i], offset[i])
	}
	return root(float64(len(offset))*Dot(std, std), 0, own-most)
}

// root returns the larger k with a k^2 - 2 b k + c = 0, and 0 if there is none.
func root(a, b, c float64) float64 {
	if d := b*b - a*c; a > 0 && d > 0 {
		return (b + math.Sqrt(d)) / a
	}
	return 0
}
