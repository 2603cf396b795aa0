package worker

import (
	"errors"
	"os"
	"sync"
)

// Together puts on the disk what workers of one process have written to their journals, which are
// in one folder: all that wait for it at once. A call for each journal would cost as much as the
// gradients.
type Together struct {
	mu      sync.Mutex
	waiting *batch     // that the next of them joins, nil where nobody waits
	turn    sync.Mutex // of who syncs
}

// batch are files that are synced together.
type batch struct {
	files []*os.File
	errs  map[*os.File]error // of files that could not be synced
	done  chan struct{}
}

// fewTogether is the number of files below which each is synced alone: to sync all of a file
// system, with what others have written to it, is more work then.
const fewTogether = 4

// Sync returns when what was written to the file before is on the disk.
func (t *Together) Sync(f *os.File) error {
	t.mu.Lock()
	b := t.waiting
	first := b == nil
	if first {
		b = &batch{done: make(chan struct{})}
		t.waiting = b
	}
	b.files = append(b.files, f)
	t.mu.Unlock()
	if first {
		t.turn.Lock() // other writers join
		t.mu.Lock()
		t.waiting = nil
		t.mu.Unlock()
		b.errs = syncAll(b.files)
		t.turn.Unlock()
		close(b.done)
	}
	<-b.done
	return b.errs[f]
}

// syncAll syncs files of one file system. Where it cannot do so at once it syncs each, and returns
// the errors.
func syncAll(files []*os.File) map[*os.File]error {
	if len(files) >= fewTogether && syncSystem(files[0]) == nil {
		return nil
	}
	errs := map[*os.File]error{}
	for _, f := range files {
		errs[f] = errors.Join(errs[f], syncFile(f))
	}
	return errs
}
