package gradients

import "fmt"

// MaxSquaredDistance bounds the squared distance of two vectors: (2 * 16383)^2 * MaxDim < 2^51.
const MaxSquaredDistance int64 = (2 * 16383) * (2 * 16383) * MaxDim

// Distances is the symmetric n x n matrix of squared distances, in squared grid steps, with a zero
// diagonal. It is immutable.
type Distances struct {
	n  int
	sq []int64 // row-major, n*n; sq[i*n+j] == sq[j*n+i]
}

// DistancesOf returns the matrix whose entry at i < j is at(i, j); it calls at once for each such pair. Pairwise
// computes distances of vectors. DistancesOf is for points of which only the distances are known, such as mixtures of
// vectors. Entries may reach the largest int64. It panics if n is outside [0, MaxParticipants] or an entry is negative.
func DistancesOf(n int, at func(i, j int) int64) *Distances {
	if n < 0 || n > MaxParticipants {
		panic(fmt.Sprintf("gradients: %d vectors, want 0 to %d", n, MaxParticipants))
	}
	d := &Distances{n: n, sq: make([]int64, n*n)}
	for i := range n {
		for j := i + 1; j < n; j++ {
			q := at(i, j)
			if q < 0 {
				panic(fmt.Sprintf("gradients: squared distance %d of %d and %d is negative", q, i, j))
			}
			d.sq[i*n+j] = q
		}
	}
	d.mirror()
	return d
}

// Len returns n, the number of vectors.
func (d *Distances) Len() int { return d.n }

// At returns the squared distance of vectors i and j. It panics if either is out of range.
func (d *Distances) At(i, j int) int64 { return d.Row(i)[j] }

// Row returns the n squared distances of vector i, its own 0 included, to be read only. It panics if i is out of range.
func (d *Distances) Row(i int) []int64 { return d.sq[i*d.n : (i+1)*d.n : (i+1)*d.n] }

// polarise turns products into squared distances above the diagonal, and clears the diagonal:
// |a - b|^2 = |a|^2 + |b|^2 - 2 <a, b>.
func (d *Distances) polarise() {
	norm := make([]int64, d.n)
	for i := range norm {
		norm[i], d.sq[i*d.n+i] = d.sq[i*d.n+i], 0
	}
	for i := range norm {
		row := d.sq[i*d.n:][:d.n]
		for j := i + 1; j < d.n; j++ {
			row[j] = norm[i] + norm[j] - 2*row[j]
		}
	}
}

// mirror copies the upper triangle to the lower one, in squares that stay in a level 1 cache.
func (d *Distances) mirror() {
	const side = 32
	for top := 0; top < d.n; top += side {
		for left := 0; left <= top; left += side {
			for i := top; i < min(top+side, d.n); i++ {
				row := d.sq[i*d.n:][:d.n]
				for j := left; j < min(left+side, i); j++ {
					row[j] = d.sq[j*d.n+i]
				}
			}
		}
	}
}
