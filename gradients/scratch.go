package gradients

import (
	"sync"
	"unsafe"
)

// tailBytes is the most that one step of a kernel reads of a row.
const tailBytes = 64

// scratch is what one worker of Pairwise needs beside its input. It is pooled, so that a validator
// that does the same round after round allocates only its results.
type scratch struct {
	n   int
	sum []int64 // n*n, the upper triangle in use: squared distances over the chunks swept so far

	// AVX2 and Gram kernels.
	base []unsafe.Pointer // n: where each row begins; cleared before the scratch goes back
	tail []byte           // n rows of tailBytes: the ragged end of each row, padded with zeros

	// Pure-Go twin.
	packed []uint64 // rows of panelWords, n rounded up to even
	norm   []int64  // squared norm of each packed row; sum of each row for the Gram kernel
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

// borrowScratch returns a scratch for n rows with zero sums.
func borrowScratch(n int) *scratch {
	s := scratches.Get().(*scratch)
	s.n = n
	s.sum, s.norm = sized(s.sum, n*n), sized(s.norm, n+n%2)
	clear(s.sum)
	clear(s.norm)
	return s
}

// giveBack returns s to the pool; it must not be used after.
func (s *scratch) giveBack() {
	clear(s.base) // or the pool would keep the round's gradients alive
	scratches.Put(s)
}

// sized returns a slice of length n, s itself if it has room; its content is arbitrary.
func sized[E any](s []E, n int) []E {
	if cap(s) < n {
		return make([]E, n)
	}
	return s[:n]
}
