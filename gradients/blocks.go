package gradients

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// BlockDim is the length of the blocks of coordinates with which InBlocks calls its function.
const BlockDim = 1024

// minBlockWork is the work that justifies one more goroutine, in units of InBlocks' cost.
const minBlockWork = 1 << 16

// InBlocks calls f(lo, hi) once for each block of coordinates [lo, hi) of [0, d). Blocks start at multiples of BlockDim
// and have BlockDim coordinates, the last one possibly fewer. They run on up to GOMAXPROCS cores in no fixed order. f
// may write only data of its block; then the result depends on neither the cores nor the order. cost is the approximate
// work for one coordinate, in additions; a small job stays on the calling goroutine.
//
// If f panics, InBlocks panics with the same value on the calling goroutine, after the other calls have finished.
func InBlocks(d, cost int, f func(lo, hi int)) {
	spread((d+BlockDim-1)/BlockDim, d*cost, func(i int) { f(i*BlockDim, min((i+1)*BlockDim, d)) })
}

// InParallel calls f(i) once for each i of [0, n), under the rules of InBlocks. cost is the work of one call.
func InParallel(n, cost int, f func(i int)) { spread(n, n*cost, f) }

// spread runs f(0) to f(n-1), which together have the given work, on the number of cores that the work justifies.
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
