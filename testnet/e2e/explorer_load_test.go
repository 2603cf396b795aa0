//go:build e2e

package e2e

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	sockets "net"
	"net/http"
	"os/exec"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/internal/stage"
)

// The load that an explorer should bear beside its nodes.
const (
	readers   = 50  // event streams
	perSecond = 200 // requests
	visitors  = 8   // addresses that they come from: one has 50 requests a second
	phase     = 12 * time.Second
	settling  = time.Second // of the streams, before rounds are counted
	repeats   = 4           // even: every other one begins with the load
)

var visited = []string{
	"/", "/v1/status", "/v1/rounds/latest", "/rounds", "/participant/3", "/v1/participants", "/model", "/round/0/4",
	"/v1/rounds", "/blocks",
}

// visits counts what became of requests.
type visits struct {
	answered, failed, events atomic.Int64
	slowest                  atomic.Int64
}

// visitor returns a client whose requests come from an address of its own.
func visitor(i int) *http.Client {
	dialer := sockets.Dialer{LocalAddr: &sockets.TCPAddr{IP: sockets.IPv4(127, 0, 0, byte(2+i%visitors))}}
	return &http.Client{Transport: &http.Transport{DialContext: dialer.DialContext, MaxIdleConnsPerHost: 32},
		Timeout: 10 * time.Second}
}

// run visits pages and reads streams until ctx ends.
func (v *visits) run(ctx context.Context, base string) {
	var wg sync.WaitGroup
	defer wg.Wait()
	for i := range readers {
		wg.Go(func() {
			request, _ := http.NewRequestWithContext(ctx, http.MethodGet, base+"/v1/events", nil)
			c := visitor(i)
			c.Timeout = 0
			r, err := c.Do(request)
			if err != nil || r.StatusCode != http.StatusOK {
				v.failed.Add(1)
				return
			}
			defer r.Body.Close()
			for lines := bufio.NewScanner(r.Body); lines.Scan(); {
				if len(lines.Bytes()) > 6 && string(lines.Bytes()[:6]) == "event:" {
					v.events.Add(1)
				}
			}
		})
	}
	clients := make([]*http.Client, visitors)
	for i := range clients {
		clients[i] = visitor(i)
	}
	tick := time.NewTicker(time.Second / perSecond)
	defer tick.Stop()
	for i := 0; ; i++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		wg.Go(func() {
			begin := time.Now()
			r, err := clients[i%visitors].Get(base + visited[i/visitors%len(visited)])
			if err != nil {
				v.failed.Add(1)
				return
			}
			_, err = io.Copy(io.Discard, r.Body)
			_ = r.Body.Close()
			if err != nil || r.StatusCode != http.StatusOK {
				v.failed.Add(1)
				return
			}
			v.answered.Add(1)
			for took, was := int64(time.Since(begin)), v.slowest.Load(); took > was && !v.slowest.CompareAndSwap(was,
				took); was = v.slowest.Load() {
			}
		})
	}
}

// TestExplorerUnderLoad: beside a localnet of four, 50 event streams and 200 requests a second to
// the explorer are all answered. It prints how much longer rounds take during the load, and bounds
// nothing there: the aim is 1.10, clients included. The phases with and without them take turns,
// and turns at being first, so that what else the machine does falls on both, and so does what
// makes the rounds of a net slower as it goes on.
func TestExplorerUnderLoad(t *testing.T) {
	stage.OnlyLong(t)
	cmd := exec.Command(binary+"-lab", "testnet", "start", "--explorer", "-o", "json", "--rounds", "3000",
		"--home", t.TempDir())
	out, err := cmd.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Process.Signal(syscall.SIGTERM); _ = cmd.Wait() })
	var rounds atomic.Int64
	base := make(chan string, 1)
	go func() {
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 1<<20)
		for lines.Scan() {
			var x struct{ Type, Explorer string }
			if json.Unmarshal(lines.Bytes(), &x) != nil {
				continue
			}
			switch x.Type {
			case "net":
				base <- x.Explorer
			case "round":
				rounds.Add(1)
			}
		}
	}()
	var at string
	select {
	case at = <-base:
	case <-time.After(2 * time.Minute):
		t.Fatal("the net does not start")
	}
	require.Eventually(t, func() bool { return rounds.Load() > 20 }, 2*time.Minute, 50*time.Millisecond)
	each := func() time.Duration { // a round's time
		from, begin := rounds.Load(), time.Now()
		time.Sleep(phase)
		return time.Since(begin) / time.Duration(max(1, rounds.Load()-from))
	}
	var without, with, clients time.Duration
	var v visits
	said := ""
	calm := func() {
		took := each()
		without += took
		said += fmt.Sprintf(" without %v,", took.Round(time.Millisecond))
	}
	busy := func() {
		ctx, cancel := context.WithCancel(t.Context())
		gone := make(chan struct{})
		used := ownCPU(t)
		go func() { v.run(ctx, at); close(gone) }()
		time.Sleep(settling)
		took := each()
		clients += ownCPU(t) - used
		cancel()
		<-gone
		with += took
		said += fmt.Sprintf(" with %v,", took.Round(time.Millisecond))
	}
	for range repeats / 2 {
		for _, measure := range []func(){calm, busy, busy, calm} {
			measure()
		}
	}
	ratio := with.Seconds() / without.Seconds()
	t.Logf("the clients took %.3f of a core", clients.Seconds()/(repeats*(phase+settling).Seconds()))
	t.Logf("a round's time and the load:%s ratio %.3f; %d answers, %d failures, the slowest %v; %d events", said, ratio,
		v.answered.Load(), v.failed.Load(),
		time.Duration(v.slowest.Load()).Round(time.Millisecond), v.events.Load())
	require.Zero(t, v.failed.Load())
	require.Greater(t, v.events.Load(), int64(repeats*readers))
}

// ownCPU is the CPU time that the test itself has used: its clients, nearly alone.
func ownCPU(t *testing.T) time.Duration {
	t.Helper()
	var used syscall.Rusage
	require.NoError(t, syscall.Getrusage(syscall.RUSAGE_SELF, &used))
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}
