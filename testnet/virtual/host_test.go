//go:build virtual

package virtual

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"math"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	abcitypes "github.com/cometbft/cometbft/abci/types"
	"github.com/cometbft/cometbft/consensus"
	cmttime "github.com/cometbft/cometbft/types/time"
)

// host is the machine of a node: its clock and its disk. All goroutines of the node and of its
// connections have the host's profiler label. By this label the copy of CometBFT finds the clock
// for a goroutine that asks for the time.
type host struct {
	labels context.Context
	ahead  atomic.Int64 // nanoseconds by which the clock is ahead
	delay  atomic.Int64 // nanoseconds that a sync of the write-ahead log takes; full if the sync fails
}

const full = math.MaxInt64

// hosts maps the goroutine label of a host, and the file of its write-ahead log, to the host.
var hosts sync.Map

func init() {
	cmttime.Skew = func() time.Duration {
		if h, ok := hosts.Load(goroutineLabel()); ok {
			return time.Duration(h.(*host).ahead.Load())
		}
		return 0
	}
	consensus.BeforeSync = func(file string) error {
		h, ok := hosts.Load(file)
		if !ok {
			return nil
		}
		switch d := h.(*host).delay.Load(); d {
		case 0:
		case full:
			return &fs.PathError{Op: "sync", Path: file, Err: syscall.ENOSPC}
		default:
			time.Sleep(time.Duration(d))
		}
		return nil
	}
}

// goroutineLabel returns the address of the goroutine's labels.
//
//go:linkname goroutineLabel runtime/pprof.runtime_getProfLabel
func goroutineLabel() unsafe.Pointer

// newHost makes the host of a node with a name and the file of its write-ahead log.
func newHost(name, log string) *host {
	h := &host{labels: pprof.WithLabels(context.Background(), pprof.Labels("node", name))}
	h.do(func() { hosts.Store(goroutineLabel(), h) })
	hosts.Store(log, h)
	return h
}

// do calls f with the host's goroutine label.
func (h *host) do(f func()) {
	pprof.SetGoroutineLabels(h.labels)
	defer pprof.SetGoroutineLabels(context.Background())
	f()
}

// Pause stops a node's consensus before its next message or timeout. It ends when Resume has been
// called as often as Pause, or when the node is stopped. The caller cuts the node's links.
func (t *Net) Pause(i int) {
	m := t.nodes[i]
	if m.running == nil {
		return
	}
	held, c := make(chan func(), 1), m.consensus
	go func() { held <- c.Hold() }() // consensus may be waiting in a proposal while it holds its lock
	m.paused = append(m.paused, held)
}

// Resume ends the earliest Pause of a node that is in force.
func (t *Net) Resume(i int) {
	m := t.nodes[i]
	if len(m.paused) == 0 {
		return
	}
	held := m.paused[0]
	m.paused = m.paused[1:]
	go func() { (<-held)() }()
}

// SetClock sets the time by which a node's clock is ahead.
func (t *Net) SetClock(i int, by time.Duration) { t.nodes[i].host.ahead.Store(int64(by)) }

// SetDisk sets the time that a sync of a node's write-ahead log takes. If delay is full, the sync
// fails.
func (t *Net) SetDisk(i int, delay time.Duration) { t.nodes[i].host.delay.Store(int64(delay)) }

// seesClock returns an error unless the node's answer to /clocks shows that its clock is ahead.
func (t *Net) seesClock(i int, by time.Duration) error {
	m := t.nodes[i]
	answer, err := m.running.Application.Query(context.Background(), &abcitypes.RequestQuery{Path: "/clocks"})
	if err != nil {
		return err
	}
	var clocks []struct { // as query.PeerClock
		AheadMs float64 `json:"ahead_ms"`
	}
	if err := json.Unmarshal(answer.Value, &clocks); err != nil {
		return fmt.Errorf("clocks %q: %w", answer.Value, err)
	}
	for _, c := range clocks {
		if off := time.Duration(c.AheadMs*float64(time.Millisecond)) + by; off.Abs() < clockError {
			return nil
		}
	}
	return fmt.Errorf("the clock of node %d is %v ahead, and it knows %v of its peers'", i, by, clocks)
}

// clockError is the max error with which a node measures a peer's clock over links with delays.
const clockError = 5 * time.Second
