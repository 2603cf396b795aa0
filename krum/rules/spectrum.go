package rules

import (
	"math/big"
	"math/bits"

	"github.com/spdl/spdl/gradients"
)

const (
	gramBits   = 30 // of the largest entry of a spectrum's matrix
	vectorBits = 20 // of the largest entry of its eigenvectors
	powerSteps = 64
)

// A spectrum finds the eigenvectors of the centred Gram matrix of points, largest eigenvalue first.
//
// The entry of points i and j is <y_i - y, y_j - y>, with y the mean of all k points. It follows
// from the squared distances: with R_i the sum of row i of them and T the sum of all, it is
// (k (R_i + R_j) - k^2 |y_i - y_j|^2 - T) / 2k^2.
//
// Invariant: an entry is below 2^30 and a vector's entry below 2^20 in magnitude, so a product of
// the two with at most 2^12 terms is below 2^62.
type spectrum struct {
	gram  [][]int64 // 2k^2 times the centred Gram matrix, shifted right
	right int       // by this number of bits
	found [][]int64 // the eigenvectors so far
}

// newSpectrum returns the spectrum of points with these distances.
func newSpectrum(d distances) *spectrum {
	rows, right := d.cut(62 - 2) // 4 k^2 times an entry is below 2^62
	k := int64(len(rows))
	sums, total := make([]int64, k), int64(0)
	for i, row := range rows {
		for _, x := range row {
			sums[i] += x
		}
		total += sums[i]
	}
	var largest int64
	for i, row := range rows {
		for j, x := range row {
			row[j] = k*(sums[i]+sums[j]) - k*k*x - total
			largest = max(largest, row[j], -row[j])
		}
	}
	excess := max(0, bits.Len64(uint64(largest))-gramBits)
	for _, row := range rows {
		for j := range row {
			row[j] >>= excess
		}
	}
	return &spectrum{gram: rows, right: right + excess}
}

// cut returns the squared distances, shifted right by the number of bits by which k^2 times the
// largest of them exceeds size bits.
func (d distances) cut(size int) (rows [][]int64, right int) {
	k := len(d.wide)
	var largestBits int
	if d.wide == nil {
		k = d.narrow.Len()
		largestBits = bits.Len64(uint64(largest(d.narrow)))
	}
	for _, row := range d.wide {
		for _, x := range row {
			if x != nil {
				largestBits = max(largestBits, x.BitLen())
			}
		}
	}
	right = max(0, largestBits+2*bits.Len(uint(k))-size)
	var x big.Int
	for i := range k {
		row := make([]int64, k)
		for j := range row {
			switch {
			case i == j:
			case d.wide == nil:
				row[j] = d.narrow.At(i, j) >> right
			default:
				row[j] = x.Rsh(d.wide[i][j], uint(right)).Int64()
			}
		}
		rows = append(rows, row)
	}
	return rows, right
}

// edge returns 2^40 * 12 times the largest eigenvalue that noise explains, of 2k^2 times the
// centred Gram matrix of k points in d dimensions.
func (s *spectrum) edge(floor int64, d int) *big.Int {
	k := uint64(len(s.gram))
	stretch := big.NewInt(1<<20 + int64(root(k<<40/uint64(d))))
	edge := new(big.Int).Mul(stretch, stretch)
	edge.Mul(edge, big.NewInt(7*2*int64(k*k)))
	return edge.Mul(edge, big.NewInt(floor))
}

// next returns the eigenvector of the largest eigenvalue that is left, with its largest entry of
// vectorBits bits, and whether the eigenvalue is beyond the edge.
func (s *spectrum) next(edge *big.Int) (v []int64, beyond bool) {
	v = s.start()
	for range powerSteps {
		v = s.times(v)
		s.clear(v)
		if !cutTo(v, vectorBits) {
			return nil, false // nothing is left
		}
	}
	var term, quotient, square big.Int
	product := s.times(v)
	for i, x := range v {
		quotient.Add(&quotient, term.Mul(big.NewInt(x), big.NewInt(product[i])))
		square.Add(&square, term.SetInt64(x*x))
	}
	quotient.Lsh(&quotient, uint(s.right+40))
	quotient.Mul(&quotient, term.SetInt64(12))
	s.found = append(s.found, v)
	return v, quotient.Cmp(square.Mul(&square, edge)) > 0
}

// start returns the column of the largest diagonal entry, at equality of the lowest position,
// without the eigenvectors that were found.
func (s *spectrum) start() []int64 {
	at := 0
	for i := range s.gram {
		if s.gram[i][i] > s.gram[at][at] {
			at = i
		}
	}
	v := append([]int64(nil), s.gram[at]...)
	cutTo(v, vectorBits)
	s.clear(v)
	cutTo(v, vectorBits)
	return v
}

// times returns the product of the matrix and a vector.
func (s *spectrum) times(v []int64) []int64 {
	out := make([]int64, len(v))
	gradients.InParallel(len(v), len(v), func(i int) {
		var sum int64
		for j, x := range s.gram[i] {
			sum += x * v[j]
		}
		out[i] = sum
	})
	return out
}

// clear takes from a vector its components along the eigenvectors that were found.
func (s *spectrum) clear(v []int64) {
	for _, u := range s.found {
		cutTo(v, vectorBits)
		var along, square int64 // below 2^52
		for i, x := range u {
			along += v[i] * x
			square += x * x
		}
		share := along / (square >> vectorBits) // u has an entry of vectorBits bits
		for i, x := range u {
			v[i] -= share * x >> vectorBits
		}
	}
}

// cutTo shifts a vector so that its largest entry has size bits, and reports whether it has an entry other than 0.
func cutTo(v []int64, size int) bool {
	var all uint64
	for _, x := range v {
		all |= uint64(max(x, -x))
	}
	by := bits.Len64(all) - size
	for i := range v {
		if by > 0 {
			v[i] >>= by
		} else {
			v[i] <<= -by
		}
	}
	return all != 0
}
