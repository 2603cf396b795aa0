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

// InBlocks calls f(lo, hi) once for each block of coordinates [lo, hi) of [0, d): blocks start at multiples of BlockDim
// and hold BlockDim coordinates, the last one fewer. Blocks run on as many cores as GOMAXPROCS allows, in no fixed
// order, so f may write only what belongs to its block; its result then depends on neither. cost is the work a
// coordinate takes, in additions or so; small jobs stay on the calling goroutine.
//
// A panic of f is raised again on the calling goroutine, after the others have finished.
func InBlocks(d, cost int, f func(lo, hi int)) {
	blocks := (d + BlockDim - 1) / BlockDim
	workers := min(runtime.GOMAXPROCS(0), blocks, 1+d*cost/minBlockWork)
	if workers <= 1 {
		for lo := 0; lo < d; lo += BlockDim {
			f(lo, min(lo+BlockDim, d))
		}
		return
	}
	var (
		next   atomic.Int64
		wg     sync.WaitGroup
		failed atomic.Pointer[any]
	)
	work := func() {
		defer func() {
			if r := recover(); r != nil {
				failed.CompareAndSwap(nil, &r)
			}
		}()
		for {
			lo := (int(next.Add(1)) - 1) * BlockDim
			if lo >= d {
				return
			}
			f(lo, min(lo+BlockDim, d))
		}
	}
	for range workers - 1 {
		wg.Go(work)
	}
	work()
	wg.Wait()
	if r := failed.Load(); r != nil {
		panic(*r)
	}
}
