package home

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/cometbft/cometbft/config"

	"github.com/spdl/spdl/app/worker"
)

// LockWorkerGroup locks the journals of a worker group's home for this process until the result is
// closed. Without this lock a second process would start, and would fail only later, at the lock
// of each worker's journal.
func LockWorkerGroup(c *config.Config, a AppConfig) (io.Closer, error) {
	return worker.Lock(journalsOf(c, a))
}

// Journals returns the path of a home's journals: the folder for a worker group, or the file for
// one worker.
func Journals(c *config.Config, a AppConfig) string {
	if IsWorkerGroup(c, a) {
		return journalsOf(c, a)
	}
	return InHome(c, a.Worker.Journal)
}

// ReadJournal returns the summary of the journal of a home with one worker, as
// worker.ReadJournalInfo does. It does not lock the journal.
func ReadJournal(c *config.Config, a AppConfig) (worker.JournalInfo, error) {
	return worker.ReadJournalInfo(InHome(c, a.Worker.Journal))
}

// KeptHeader returns the path of the file with the last header that a home's worker has verified.
func KeptHeader(c *config.Config) string { return filepath.Join(c.DBDir(), "worker_header.json") }

// resetWorkerGroup does the work of Reset for the home of a worker group, which has no node and no
// validator. It makes a new journal for each key.
func resetWorkerGroup(c *config.Config, a AppConfig) error {
	held, err := LockWorkerGroup(c, a)
	if err != nil {
		return err
	}
	defer func() { _ = held.Close() }()
	notes, folder := journalsOf(c, a), InHome(c, a.Worker.KeyFile)
	for _, lost := range []string{notes, KeptHeader(c)} {
		if err := os.RemoveAll(lost); err != nil {
			return err
		}
	}
	if err := os.MkdirAll(notes, 0o700); err != nil {
		return err
	}
	keys, err := os.ReadDir(folder)
	if err != nil {
		return err
	}
	errs := make([]error, len(keys))
	forEach(len(keys), func(i int) {
		if name := keys[i].Name(); strings.HasSuffix(name, ".json") {
			errs[i] = worker.NewJournal(filepath.Join(notes, name))
		}
	})
	return errors.Join(errs...)
}
