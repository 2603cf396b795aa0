//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/testnet"
)

// TestWorkerProcess trains with one participant's worker in a process of its
// own, at another node's RPC. It is killed and started again, and so is the node
// that it talks to: its gradients are in the rounds before and after, and no
// round ever had two of them.
func TestWorkerProcess(t *testing.T) {
	n := start(t, testnet.Manifest{Validators: 4}, func(made *testnet.Net) {
		path := filepath.Join(made.Nodes[3].Home, "config", "app.toml")
		data, err := os.ReadFile(path)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(path, bytes.Replace(data, []byte("enabled = true"), []byte("enabled = false"), 1),
			0o600))
	})
	launch := func() *exec.Cmd {
		cmd := exec.Command(binary, "worker", "--home", n.Net.Nodes[3].Home, "--node", n.Net.Nodes[0].RPC, "--log-level",
			"error")
		cmd.Stderr = os.Stderr
		require.NoError(t, cmd.Start())
		return cmd
	}
	// included waits for a round after the given one that has participant 3.
	included := func(after uint64) uint64 {
		t.Helper()
		var found uint64
		n.eventually(func() bool {
			at, ok := n.round(1)
			if !ok || at <= after+1 {
				return false
			}
			r, err := client.Ask[app.Record](context.Background(), n.clients[1], fmt.Sprintf("/round/%d", at-1))
			found = at
			return err == nil && len(r.Contributions) == 4
		}, "no round after %d has all four", after)
		return found
	}
	worker := launch()
	t.Cleanup(func() { _ = worker.Process.Kill(); _ = worker.Wait() })
	at := included(2)
	require.NoError(t, worker.Process.Kill())
	_ = worker.Wait() // killed
	n.reach(at + 2)
	worker = launch()
	at = included(at + 2)
	require.NoError(t, n.Kill(0))
	time.Sleep(2 * time.Second)
	require.NoError(t, n.Start(0))
	at = included(at + 2)
	n.reach(at)
	n.sameHashes()
	t.Logf("a worker in its own process took part up to round %d through a restart of either side", at)
}

// TestSearch finds rounds, leaders and participants by CometBFT's own search.
func TestSearch(t *testing.T) {
	n := start(t, testnet.Manifest{Validators: 4})
	n.reach(6)
	ctx := context.Background()
	record := n.record(0, 4)
	sound := 0 // gradients of round 4 that are not opposed
	for _, c := range record.Contributions {
		if !c.Opposed {
			sound++
		}
	}
	who := record.Contributions[0].Participant // anybody's gradient may miss a round
	took := 0                                  // of the first six rounds
	for round := range uint64(6) {
		for _, c := range n.record(0, round).Contributions {
			if c.Participant == who {
				took++
			}
		}
	}
	// CometBFT indexes a block some time after it is committed.
	n.eventually(func() bool {
		blocks, err := n.clients[0].RPC().BlockSearch(ctx, "round.round = 4", nil, nil, "")
		require.NoError(t, err)
		return len(blocks.Blocks) == 1 && blocks.Blocks[0].Block.Height == int64(record.Height)
	}, "the block of round 4 is not found")
	page := 100
	for query, want := range map[string]int{
		fmt.Sprintf("gradient.participant = %d AND gradient.round < 6", who): took,
		"gradient.round = 4": len(record.Contributions),
		fmt.Sprintf("gradient.round = 4 AND gradient.participant = %d", who): 1,
		"aggregate.round = 4":                               1,
		"gradient.opposed = 'false' AND gradient.round = 4": sound,
	} {
		n.eventually(func() bool {
			r, err := n.clients[1].RPC().TxSearch(ctx, query, false, nil, &page, "")
			require.NoError(t, err, query)
			return r.TotalCount == want
		}, "%s: want %d transactions", query, want)
	}
}

// TestWorkersOfAHungNode: the node that 24 workers follow hangs for 30 s, accepting connections. They
// follow another node: no worker is without a gradient in a closed round for longer than 5 s. With
// four validators, rounds go on without one.
func TestWorkersOfAHungNode(t *testing.T) {
	n := start(t, testnet.Manifest{Validators: 4, Workers: 24})
	n.reach(4)
	require.NoError(t, n.Signal(0, syscall.SIGSTOP))
	began := time.Now()
	time.Sleep(30 * time.Second)
	at, ok := n.round(1)
	ended := time.Now()
	require.NoError(t, n.Signal(0, syscall.SIGCONT))
	require.True(t, ok)
	last := map[uint32]time.Time{}
	for i := range uint32(24) {
		last[4+i] = began
	}
	var idle time.Duration
	seen := func(worker uint32, now time.Time) {
		idle = max(idle, now.Sub(last[worker]))
		last[worker] = now
	}
	counted := 0
	for round := range at {
		r := n.record(1, round)
		height := int64(r.Height)
		b, err := n.clients[1].RPC().Commit(context.Background(), &height)
		require.NoError(t, err)
		if b.Time.Before(began) || b.Time.After(ended) {
			continue
		}
		counted++
		for _, c := range r.Contributions {
			if c.Participant >= 4 {
				seen(c.Participant, b.Time)
			}
		}
	}
	for worker := range last {
		seen(worker, ended)
	}
	t.Logf("%d rounds in 30 s; the worker without a gradient for longest waited %v", counted, idle)
	require.Less(t, idle, 5*time.Second)
	n.sameHashes()
}
