package worker

import (
	"errors"
	"os"
	"sync"
)

// GroupSync syncs the journals of the workers of one process to the disk. All journals are on one
// file system, so one system call can serve all workers that wait for a sync. If each worker synced
// its own journal, the syncs would take as long as the computation of the gradients.
type GroupSync struct {
	mu        sync.Mutex
	nextBatch *batch     // the batch that the next worker joins; nil if no worker waits
	syncMu    sync.Mutex // held by the worker that syncs
}

// batch is a set of files that one call syncs together.
type batch struct {
	files []*os.File
	errs  map[*os.File]error // the error of each file that could not be synced
	done  chan struct{}
}

// fewTogether is the min number of files for a sync of the whole file system. Such a sync includes
// the writes of other programs, and takes longer than syncing a few files one by one.
const fewTogether = 4

// Sync returns when all earlier writes to the file are on the disk.
func (t *GroupSync) Sync(f *os.File) error {
	t.mu.Lock()
	b := t.nextBatch
	first := b == nil
	if first {
		b = &batch{done: make(chan struct{})}
		t.nextBatch = b
	}
	b.files = append(b.files, f)
	t.mu.Unlock()
	if first {
		t.syncMu.Lock() // while this worker waits for the lock, other workers join its batch
		t.mu.Lock()
		t.nextBatch = nil
		t.mu.Unlock()
		b.errs = syncAll(b.files)
		t.syncMu.Unlock()
		close(b.done)
	}
	<-b.done
	return b.errs[f]
}

// syncAll syncs files of one file system, with a single call for many files if the system supports
// that call. It returns the error of each file that could not be synced.
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
