package worker

import (
	"errors"
	"os"
	"sync"
)

// GroupSync syncs the journals of the workers of one process to the disk. All journals are in one
// folder, and one system call serves all workers that wait at that moment: a call for each journal
// would cost as much as the gradients.
type GroupSync struct {
	mu      sync.Mutex
	waiting *batch     // the batch that the next worker joins; nil if no worker waits
	turn    sync.Mutex // held by the worker that syncs
}

// batch is a set of files that one call syncs together.
type batch struct {
	files []*os.File
	errs  map[*os.File]error // the error of each file that could not be synced
	done  chan struct{}
}

// fewTogether is the number of files below which each file is synced separately. A sync of the
// whole file system includes the writes of other programs, and costs more than syncing a few files.
const fewTogether = 4

// Sync returns when all earlier writes to the file are on the disk.
func (t *GroupSync) Sync(f *os.File) error {
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
		t.turn.Lock() // while this worker waits for the turn, other workers join its batch
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

// syncAll syncs files of one file system: with a single call if the system supports it, and
// otherwise one after the other. It returns the error of each file that failed.
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
