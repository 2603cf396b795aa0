package home

import (
	"io"
	"path/filepath"

	"github.com/cometbft/cometbft/config"

	"github.com/spdl/spdl/app/worker"
)

// LockWorkerGroup locks the journals of a worker group's home for this process until the result is closed. Without this
// lock a second process would start, and would fail only later, at the lock of each worker's journal.
func LockWorkerGroup(c *config.Config, a AppConfig) (io.Closer, error) {
	return worker.Lock(journalsOf(c, a))
}

// Journals returns the path of a home's journals: the folder for a worker group, or the file for one worker.
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
