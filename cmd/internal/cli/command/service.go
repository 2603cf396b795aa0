package command

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"
)

const (
	// maxQueued bounds the bytes of the lines that wait for the reader of a service's log.
	maxQueued = 1 << 20
	// lastWait is the time for which the end of a service waits for the reader of its output.
	lastWait = time.Second
	// lostLines is the message about lines that were dropped.
	lostLines = "lines lost: the log was not read, or could not be written"
)

// service is the annotation of a Service, of which a signal is the way to end.
const service = "service"

// Service makes cmd run on and stop whether or not somebody reads what it writes. Its log waits in
// a queue. After a signal, data that nobody reads are given up. A closed pipe is an error of a write
// and does not end the process, as SIGPIPE would.
func Service(cmd *cobra.Command) *cobra.Command {
	before := cmd.PreRunE
	cmd.Annotations = map[string]string{service: "until a signal"}
	cmd.PreRunE = func(cmd *cobra.Command, args []string) error {
		signal.Notify(make(chan os.Signal, 1), syscall.SIGPIPE) // if ignored, children would inherit it
		if f, ok := cmd.ErrOrStderr().(*os.File); ok {
			cmd.Root().SetErr(newLogQueue(f))
		}
		if f, ok := cmd.OutOrStdout().(*os.File); ok {
			cmd.SetOut(&untilEnd{Writer: f, ctx: cmd.Context()})
		}
		return before(cmd, args)
	}
	return cmd
}

// logQueue is a writer of lines that never waits for the reader of its file. It drops the lines that the queue has no
// room for, and those that cannot be written, and reports their number when a line is written again.
type logQueue struct {
	file *os.File
	wake chan struct{} // has an element while write has something to do
	done chan struct{} // closed when write has ended

	mu      sync.Mutex
	pending []byte
	lost    int       // the number of dropped lines that are not yet reported
	report  func(int) // reports the number of dropped lines in a line of the log
	closing bool
}

func newLogQueue(f *os.File) *logQueue {
	q := &logQueue{file: f, wake: make(chan struct{}, 1), done: make(chan struct{})}
	q.report = func(lost int) { fmt.Fprintf(q, "%d %s\n", lost, lostLines) }
	go q.write()
	return q
}

// Fd lets a logger find out whether the file is a terminal.
func (q *logQueue) Fd() uintptr { return q.file.Fd() }

// Stat describes the file.
func (q *logQueue) Stat() (os.FileInfo, error) { return q.file.Stat() }

// Write implements io.Writer.
func (q *logQueue) Write(lines []byte) (int, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	if len(q.pending)+len(lines) > maxQueued {
		q.lost += bytes.Count(lines, []byte("\n"))
	} else {
		q.pending = append(q.pending, lines...)
	}
	q.wakeWriter()
	return len(lines), nil
}

func (q *logQueue) wakeWriter() {
	select {
	case q.wake <- struct{}{}:
	default:
	}
}

// reportTo sets the function that reports dropped lines, by a line of the log.
func (q *logQueue) reportTo(report func(lost int)) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.report = report
}

// write writes the pending lines until close has been called and none is left.
func (q *logQueue) write() {
	defer close(q.done)
	for range q.wake {
		q.mu.Lock()
		lines := q.pending
		q.pending = nil
		ends := q.closing && len(lines) == 0
		q.mu.Unlock()
		if ends {
			return
		}
		_, err := q.file.Write(lines)
		q.mu.Lock()
		lost, report := q.lost, q.report
		if err != nil {
			q.lost += bytes.Count(lines, []byte("\n"))
			lost = 0 // the report could not be written either
		}
		q.lost -= lost
		if q.closing {
			q.wakeWriter()
		}
		q.mu.Unlock()
		if lost > 0 {
			report(lost)
		}
	}
}

// close waits until the lines are written, for lastWait at most.
func (q *logQueue) close() {
	q.mu.Lock()
	q.closing = true
	q.wakeWriter()
	q.mu.Unlock()
	select {
	case <-q.done:
	case <-time.After(lastWait):
	}
}

// untilEnd is a writer that waits for its reader until ctx ends, and then for lastWait at most.
type untilEnd struct {
	io.Writer
	ctx context.Context

	mu      sync.Mutex
	aborted error
}

// Write implements io.Writer.
func (u *untilEnd) Write(data []byte) (n int, err error) {
	u.mu.Lock()
	defer u.mu.Unlock()
	if u.aborted != nil {
		return 0, u.aborted
	}
	written := make(chan error, 1)
	data = bytes.Clone(data) // after an abort the caller may change its own
	go func() {
		_, err := u.Writer.Write(data)
		written <- err
	}()
	select {
	case err = <-written:
		return len(data), err
	case <-u.ctx.Done():
	}
	select {
	case err = <-written:
		return len(data), err
	case <-time.After(lastWait):
		u.aborted = fmt.Errorf("nobody reads the output: %w", u.ctx.Err())
		return 0, u.aborted
	}
}
