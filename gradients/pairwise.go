package gradients

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// minWork is the number of pair-coordinates that pays for one more goroutine (2 to 10 microseconds
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
// It uses the fastest kernel that the CPU has, on as many cores as GOMAXPROCS allows. All of it is
// integer addition, so neither choice shows in the result. It allocates the result, and on several
// cores a few words a goroutine.
//
// Shapes: at most MaxParticipants vectors of one width and length; Pairwise panics otherwise. None
// gives an empty matrix.
func Pairwise(vs []Vector) *Distances {
	if len(vs) == 0 {
		return &Distances{}
	}
	return pairwise(vs, fastest(vs[0].width), runtime.GOMAXPROCS(0))
}

// pairwise lets tests choose the kernel and the number of workers.
func pairwise(vs []Vector, k kernel, workers int) *Distances {
	n := len(vs)
	d := &Distances{n: n, sq: make([]int64, n*n)}
	if n < 2 {
		return d
	}
	_, dim := Shape(vs)
	chunk := k.chunkFor(n)
	chunks := (dim + chunk - 1) / chunk
	work := n * (n - 1) / 2 * dim
	workers = min(workers, chunks, 1+work/minWork)
	if workers <= 1 {
		s := borrowScratch(n)
		for lo := 0; lo < dim; lo += chunk {
			s.sweep(vs, lo, min(lo+chunk, dim), k)
		}
		d.take(s, k)
	} else {
		d.share(vs, k, workers)
	}
	d.mirror()
	return d
}

// share lets the workers take chunks until none is left. Each sums into a scratch matrix of its own
// and adds that to d at its end. The scheduler decides which worker takes which chunk; it does not
// matter, because integer sums commute.
func (d *Distances) share(vs []Vector, k kernel, workers int) {
	dim, chunk := vs[0].Len(), k.chunkFor(d.n)
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
			s.sweep(vs, lo, min(lo+chunk, dim), k)
		}
		mu.Lock()
		defer mu.Unlock()
		d.take(s, k)
	}
	for range workers - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
}

// take adds the sums that kernel k left in s to d and gives s back.
func (d *Distances) take(s *scratch, k kernel) {
	if k.isGram() {
		s.polarise()
	}
	for i, q := range s.sum {
		d.sq[i] += q
	}
	s.giveBack()
}
