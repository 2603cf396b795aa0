package gradients

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// minWork is the number of pair-coordinates that justifies one more goroutine: 2 to 10 microseconds of a kernel.
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
// It uses the fastest kernel that the CPU has, on as many cores as GOMAXPROCS allows. All of it is integer addition, so
// neither choice shows in the result. It allocates the result, and on several cores a few words a goroutine.
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
	tasks := tiles(n) * ((dim + chunk - 1) / chunk)
	work := n * (n - 1) / 2 * dim
	d.share(vs, k, min(workers, tasks, 1+work/minWork))
	if k.isGram() {
		d.polarise()
	}
	d.mirror()
	return d
}

// share distributes the chunks of tiles among the workers. Each worker sums the chunks of a tile in its own scratch
// matrix, and adds that to d before it begins another tile. The scheduler decides which worker gets which chunk. That
// does not affect the result, because the order of integer sums does not matter.
func (d *Distances) share(vs []Vector, k kernel, workers int) {
	if workers <= 1 {
		d.work(vs, k, new(atomic.Int64), new(sync.Mutex))
		return
	}
	var (
		next atomic.Int64
		mu   sync.Mutex
		wg   sync.WaitGroup
	)
	for range workers - 1 {
		wg.Go(func() { d.work(vs, k, &next, &mu) })
	}
	d.work(vs, k, &next, &mu)
	wg.Wait()
}

// work is the loop of one worker. next is the number of chunks that workers have taken, and mu guards d.
func (d *Distances) work(vs []Vector, k kernel, next *atomic.Int64, mu *sync.Mutex) {
	dim, chunk := vs[0].Len(), k.chunkFor(d.n)
	chunks := (dim + chunk - 1) / chunk
	s := scratches.Get().(*scratch)
	defer s.giveBack()
	current, tasks := -1, tiles(d.n)*chunks
	put := func() {
		if current >= 0 {
			mu.Lock()
			defer mu.Unlock()
			d.take(s, current, k)
		}
	}
	for {
		task := int(next.Add(1)) - 1
		if task >= tasks {
			break
		}
		if task/chunks != current {
			put()
			current = task / chunks
			top, left := tileAt(d.n, current)
			s.begin(vs[top:min(top+tileRows, d.n)], vs[left:min(left+tileRows, d.n)], top == left)
		}
		lo := task % chunks * chunk
		s.sweep(lo, min(lo+chunk, dim), k)
	}
	put()
}
