package gradients

import (
	"sync"
	"unsafe"
)

// tailBytes is the max number of bytes that one step of a kernel reads of a row.
const tailBytes = 64

// scratch is the memory of one worker of Pairwise in addition to its input. A worker processes one tile at a time.
// Scratches are pooled, so that a validator allocates only its results in every round after the first.
type scratch struct {
	rows, cols []Vector // of the tile; cleared before the scratch goes back
	triangle   bool     // rows are cols, and only pairs i <= j count

	// sum holds a kernel's result for row i and column j, over the chunks swept so far, at i*len(cols)+j.
	sum []int64

	// left and right, for the AVX2 and Gram kernels, hold the addresses of each row and column, and are cleared before the
	// scratch goes back to the pool. tail holds their last bytes, tailBytes each, padded with zeros.
	left, right []unsafe.Pointer
	tail        []byte

	// Pure-Go twin.
	packed []uint64 // panels: those of the rows, one more if they are odd, those of the columns
	norm   []int64  // squared norm of each panel; sum of each column for the Gram kernels
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// begin starts a tile with zero sums.
func (s *scratch) begin(rows, cols []Vector, triangle bool) {
	s.rows, s.cols, s.triangle = rows, cols, triangle
	s.sum = sized(s.sum, len(rows)*len(cols))
	s.norm = sized(s.norm, len(rows)+len(cols)+2)
	clear(s.sum)
	clear(s.norm)
}

// giveBack returns s to the pool. The caller must not use it afterwards.
func (s *scratch) giveBack() {
	s.rows, s.cols = nil, nil // otherwise the pool would keep the round's gradients alive
	clear(s.left)
	clear(s.right)
	scratches.Put(s)
}

// sized returns a slice of length n, s itself if it has room; its content is arbitrary.
func sized[E any](s []E, n int) []E {
	if cap(s) < n {
		return make([]E, n)
	}
	return s[:n]
}
