package explorer

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/mat"

	"github.com/spdl/spdl/gradients"
)

// apartness returns for each vector its median distance to the others, divided by the median of
// that distance over all vectors.
func apartness(between *gradients.Distances) []float64 {
	out := make([]float64, between.Len())
	for i := range out {
		row := slices.Clone(between.Row(i))
		row = slices.Delete(row, i, i+1)
		slices.Sort(row)
		if len(row) > 0 {
			out[i] = math.Sqrt(float64(row[len(row)/2]))
		}
	}
	if usual := slices.Sorted(slices.Values(out))[len(out)/2]; usual > 0 {
		for i := range out {
			out[i] /= usual
		}
	}
	return out
}

// cosine returns the cosine of two vectors from their product and their squared lengths. It returns
// 0 if a vector has length 0.
func cosine(dot, a, b float64) float64 {
	if a <= 0 || b <= 0 {
		return 0
	}
	return dot / math.Sqrt(a*b)
}

// noiseStds is the limit from which two vectors are called related: their cosine is more than
// noiseStds standard deviations, each 1/sqrt(d), of the cosine of independent noise.
const noiseStds = 6

// related finds the gradients with a similar direction relative to Delta: the cosine of their
// differences from Delta is above the given value.
func (s *shape) related(squared *mat.SymDense, above float64) {
	n := len(s.Participants)
	s.With = make([][]uint32, n)
	for i := range n {
		for j := range n {
			a, b := squared.At(i, n), squared.At(j, n)
			if i != j && cosine((a+b-squared.At(i, j))/2, a, b) > above {
				s.With[i] = append(s.With[i], s.Participants[j])
			}
		}
	}
}

// centred returns the scalar products of vectors minus their mean, computed from the squared
// distances of the vectors: -J D J / 2, where J is the projection that removes the mean.
func centred(squared *mat.SymDense) *mat.SymDense {
	n := squared.SymmetricDim()
	row, all := make([]float64, n), 0.0
	for i := range n {
		for j := range n {
			row[i] += squared.At(i, j) / float64(n)
		}
		all += row[i] / float64(n)
	}
	out := mat.NewSymDense(n, nil)
	for i := range n {
		for j := i; j < n; j++ {
			out.SetSym(i, j, -(squared.At(i, j)-row[i]-row[j]+all)/2)
		}
	}
	return out
}

// onPlane places points on a plane from their squared distances, by classical multidimensional
// scaling (Torgerson, Psychometrika 17, 1952). It also returns the share of the squared distances
// that the plane keeps. The sign of an axis is fixed: its largest coordinate is positive.
func onPlane(squared *mat.SymDense) (places [][2]float64, kept float64) {
	n := squared.SymmetricDim()
	places = make([][2]float64, n)
	var eigen mat.EigenSym
	if !eigen.Factorize(centred(squared), true) {
		return places, 0
	}
	values := eigen.Values(nil) // ascending
	var vectors mat.Dense
	eigen.VectorsTo(&vectors)
	var all, drawn float64
	for k := range min(2, n) {
		column := n - 1 - k
		length := math.Sqrt(max(0, values[column]))
		drawn += length * length
		largest := 0.0
		for i := range n {
			if x := vectors.At(i, column); math.Abs(x) > math.Abs(largest)*(1+1e-9) {
				largest = x
			}
		}
		for i := range n {
			places[i][k] = vectors.At(i, column) * math.Copysign(length, length*largest)
		}
	}
	for _, x := range values {
		all += max(0, x)
	}
	if all > 0 {
		kept = drawn / all
	}
	return places, kept
}
