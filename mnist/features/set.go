package features

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"runtime"
	"sync"

	"github.com/spdl/spdl/mnist"
)

// chunk is the number of images that a goroutine processes at a time.
const chunk = 256

// Strokes returns the features of all images of a set, rows of Inputs values, computed on all
// cores. Rows do not depend on the number of cores. The images must be square; see [New]. The
// function progress, unless nil, is called after every few hundred images with the number of
// finished images: from one goroutine at a time, with growing numbers, the last of which is the
// size of the set. An error of progress ends the computation within some hundred images, and is returned.
//
// It also fails with [mnist.ErrFeatures] for images of another shape.
func Strokes(s mnist.Set, progress func(done int) error) (mnist.Features, error) {
	if s.Rows != s.Cols {
		return mnist.Features{}, fmt.Errorf("%w: strokes of images of %dx%d, want a square", mnist.ErrFeatures, s.Rows,
			s.Cols)
	}
	maps := make([]*Map, runtime.GOMAXPROCS(0))
	for i := range maps {
		var err error
		if maps[i], err = New(s.Rows); err != nil {
			return mnist.Features{}, err
		}
	}
	f := mnist.Features{X: make([]float32, s.Len()*Inputs), Labels: s.Labels, Inputs: Inputs, Groups: s.Groups}
	starts, failed := make(chan int), make(chan struct{})
	var (
		group sync.WaitGroup
		mu    sync.Mutex // guards done and err, and keeps calls of progress apart
		done  int
		err   error // the first error of progress
	)
	report := func(more int) {
		mu.Lock()
		defer mu.Unlock()
		done += more
		if progress == nil || err != nil {
			return
		}
		if err = progress(done); err != nil {
			close(failed)
		}
	}
	for _, m := range maps {
		group.Go(func() {
			for from := range starts {
				to := min(from+chunk, s.Len())
				for i := from; i < to; i++ {
					m.Row(f.Row(i), s.Image(i))
				}
				report(to - from)
			}
		})
	}
	for from := 0; from < s.Len(); from += chunk {
		select {
		case starts <- from:
			continue
		case <-failed:
		}
		break
	}
	close(starts)
	group.Wait()
	if err != nil {
		return mnist.Features{}, err
	}
	return f, nil
}

// Key returns the hash of everything that the features of a set depend on. Labels are not part of it.
func Key(s mnist.Set) [sha256.Size]byte {
	h := sha256.New()
	recipe := Hash()
	h.Write(recipe[:])
	for _, v := range []int{s.Len(), s.Rows, s.Cols} {
		h.Write(binary.LittleEndian.AppendUint64(nil, uint64(v)))
	}
	h.Write(s.Images)
	return [sha256.Size]byte(h.Sum(nil))
}
