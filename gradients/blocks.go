package gradients

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// BlockDim is the length of a block of coordinates that InBlocks hands out.
const BlockDim = 1024

// minBlockWork is the work, in units of InBlocks' cost, that pays for one more goroutine.
const minBlockWork = 1 << 16

// InBlocks calls f(lo, hi) once for each block of coordinates [lo, hi) of [0, d): blocks start at
// multiples of BlockDim and hold BlockDim coordinates, the last one fewer. Blocks run on as many
// cores as GOMAXPROCS allows, in no fixed order, so f may write only what belongs to its block; its
// result then depends on neither. cost is the work a coordinate takes, in additions or so; small
// jobs stay on the calling goroutine.
//
// A panic of f is raised again on the calling goroutine, after the other calls have finished.
func InBlocks(d, cost int, f func(lo, hi int)) {
	spread((d+BlockDim-1)/BlockDim, d*cost, func(i int) { f(i*BlockDim, min((i+1)*BlockDim, d)) })
}

// InParallel calls f(i) once for each i of [0, n), under the rules of InBlocks; cost is the work of
// one call.
func InParallel(n, cost int, f func(i int)) { spread(n, n*cost, f) }

// spread runs f(0) to f(n-1), which together take the given work, on as many cores as are worth it.
func spread(n, work int, f func(i int)) {
	workers := min(runtime.GOMAXPROCS(0), n, 1+work/minBlockWork)
	if workers <= 1 {
		for i := range n {
			f(i)
		}
		return
	}
	var (
		next   atomic.Int64
		wg     sync.WaitGroup
		failed atomic.Pointer[any]
	)
	run := func() {
		defer func() {
			if r := recover(); r != nil {
				failed.CompareAndSwap(nil, &r)
			}
		}()
		for {
			i := int(next.Add(1)) - 1
			if i >= n {
				return
			}
			f(i)
		}
	}
	for range workers - 1 {
		wg.Go(run)
	}
	run()
	wg.Wait()
	if r := failed.Load(); r != nil {
		panic(*r)
	}
}
