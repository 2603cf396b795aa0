package gradients

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// chunk is how many coordinates of each row are worked on before moving along: all rows of a chunk
// stay in a core's level 2 cache up to a few hundred participants, while every row meets every
// other. It also bounds the 32-bit lanes of the int8 kernel (see doc.go) and is the unit that
// workers share out. Measured: 4096 is 3 % faster on one core and leaves the second one idle more
// often; 8192 is slower.
const chunk = 2048

// minWork is the number of pair-coordinates that pays for one more goroutine (about 10 microseconds
// of kernel).
const minWork = 1 << 19

// Pairwise returns the squared distances of all pairs of vs:
//
//	for i := range vs {
//		for j := range vs {
//			for k := range vs[i].Len() {
//				d.At(i, j) += (vs[i].At(k) - vs[j].At(k)) * (vs[i].At(k) - vs[j].At(k))
//			}
//		}
//	}
//
// It uses the AVX2 kernel where the CPU has it and the pure-Go twin elsewhere, on as many cores as
// GOMAXPROCS allows. All of it is integer addition, so neither choice shows in the result. It
// allocates the result, and on several cores a few words a goroutine.
//
// Shapes: at most MaxParticipants vectors of one width and length; Pairwise panics otherwise. None
// gives an empty matrix.
func Pairwise(vs []Vector) *Distances {
	return pairwise(vs, haveAVX2, runtime.GOMAXPROCS(0))
}

// pairwise lets tests choose the kernel and the number of workers.
func pairwise(vs []Vector, avx2 bool, workers int) *Distances {
	n := len(vs)
	d := &Distances{n: n, sq: make([]int64, n*n)}
	if n < 2 {
		return d
	}
	_, dim := Shape(vs)
	chunks := (dim + chunk - 1) / chunk
	work := n * (n - 1) / 2 * dim
	workers = min(workers, chunks, 1+work/minWork)
	if workers <= 1 {
		s := borrowScratch(n)
		for lo := 0; lo < dim; lo += chunk {
			s.sweep(vs, lo, min(lo+chunk, dim), avx2)
		}
		d.take(s)
	} else {
		d.share(vs, avx2, workers)
	}
	d.mirror()
	return d
}

// share lets the workers take chunks until none is left. Each sums into a scratch matrix of its own
// and adds that to d at its end. The scheduler decides which worker takes which chunk; it does not
// matter, because integer sums commute.
func (d *Distances) share(vs []Vector, avx2 bool, workers int) {
	dim := vs[0].Len()
	var (
		next atomic.Int64
		mu   sync.Mutex
		wg   sync.WaitGroup
	)
	work := func() {
		s := borrowScratch(d.n)
		for {
			lo := (int(next.Add(1)) - 1) * chunk
			if lo >= dim {
				break
			}
			s.sweep(vs, lo, min(lo+chunk, dim), avx2)
		}
		mu.Lock()
		defer mu.Unlock()
		d.take(s)
	}
	for range workers - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
}

// take adds the sums of s to d and gives s back.
func (d *Distances) take(s *scratch) {
	for i, q := range s.sum {
		d.sq[i] += q
	}
	s.giveBack()
}
