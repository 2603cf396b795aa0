package explorer

import (
	"math"

	"gonum.org/v1/gonum/mat"
)

// cosine returns the cosine of two vectors from their product and their squared lengths. It returns
// 0 if a vector has length 0.
func cosine(dot, a, b float64) float64 {
	if a <= 0 || b <= 0 {
		return 0
	}
	return dot / math.Sqrt(a*b)
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
