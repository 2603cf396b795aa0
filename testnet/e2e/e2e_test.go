//go:build e2e

// Package e2e runs real localnets of processes and hurts them: `make e2e`.
package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/testnet"
)

// binary is spdl, built once.
var binary string

func TestMain(m *testing.M) {
	if os.Getenv(oneNet) != "" {
		os.Exit(m.Run())
	}
	dir, err := os.MkdirTemp("", "spdl-e2e-")
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	binary = filepath.Join(dir, "spdl")
	code := 1
	build := exec.Command("go", "build", "-o", dir, "../../cmd/spdl", "../../cmd/spdl-lab")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Printf("%v\n%s", err, out)
	} else {
		code = m.Run()
	}
	os.RemoveAll(dir)
	os.Exit(code)
}

// net is a running localnet of processes with a client for each node.
type net struct {
	*testing.T
	*testnet.Processes
	clients []*client.Client
}

// start runs a localnet that trains for far more rounds than a test lasts. The
// changes are made to its homes before.
func start(t *testing.T, m testnet.Manifest, changes ...func(*testnet.Net)) *net {
	t.Helper()
	m.Home = t.TempDir()
	if m.Rounds == 0 {
		m.Rounds = 100_000
	}
	made, err := testnet.Init(m)
	require.NoError(t, err)
	for _, change := range changes {
		change(made)
	}
	p, err := testnet.StartProcesses(made, binary)
	require.NoError(t, err)
	t.Cleanup(func() {
		if err := p.Stop(); err != nil {
			t.Error(err)
		}
	})
	return &net{T: t, Processes: p, clients: clients(t, made)}
}

// clients has one for each node.
func clients(t *testing.T, made *testnet.Net) []*client.Client {
	t.Helper()
	var all []*client.Client
	for _, node := range made.Nodes {
		c, err := client.New(node.RPC)
		require.NoError(t, err)
		all = append(all, c)
	}
	return all
}

// patience is how long a test waits for what must come: a limit for machines that
// are slow, or busy.
const patience = 3 * time.Minute

// alive fails the test if a node ended by itself.
func (n *net) alive() {
	n.Helper()
	select {
	case err := <-n.Failed():
		require.NoError(n, err)
	default:
	}
}

// round returns the open round as the node knows it, or 0 and false while it does
// not answer.
func (n *net) round(i int) (uint64, bool) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	s, err := n.clients[i].Status(ctx)
	return s.Round, err == nil
}

// open returns the open round of a node that runs, however long its answer takes.
func (n *net) open(i int) (at uint64) {
	n.Helper()
	n.eventually(func() (ok bool) { at, ok = n.round(i); return ok }, "node %d does not answer", i)
	return at
}

// eventually waits for a condition while the nodes run. The condition may fail the
// test: it is called by the test's own goroutine.
func (n *net) eventually(holds func() bool, message string, args ...any) {
	n.Helper()
	for begin := time.Now(); !holds(); time.Sleep(50 * time.Millisecond) {
		n.alive()
		require.Less(n, time.Since(begin), patience, append([]any{message}, args...)...)
	}
}

// record returns a closed round as a node tells it, once that node has closed it.
func (n *net) record(i int, round uint64) (r app.Record) {
	n.Helper()
	n.eventually(func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		var err error
		r, err = client.Ask[app.Record](ctx, n.clients[i], fmt.Sprintf("/round/%d", round))
		return err == nil
	}, "node %d does not close round %d", i, round)
	return r
}

// reach waits until every node has closed the rounds below the given one.
func (n *net) reach(round uint64) {
	n.Helper()
	n.eventually(func() bool {
		for i := range n.clients {
			if at, ok := n.round(i); !ok || at < round {
				return false
			}
		}
		return true
	}, "not all nodes reached round %d", round)
}

// sameHashes compares the application hash of all nodes at every height, and
// returns how many heights that were.
func (n *net) sameHashes() int64 {
	n.Helper()
	ctx := context.Background()
	var last int64 = 1 << 62
	for _, c := range n.clients {
		s, err := c.RPC().Status(ctx)
		require.NoError(n, err)
		last = min(last, s.SyncInfo.LatestBlockHeight)
	}
	for h := int64(1); h <= last; h++ {
		var want string
		for i, c := range n.clients {
			b, err := c.RPC().Header(ctx, &h)
			require.NoError(n, err)
			if got := fmt.Sprint(b.Header.AppHash, b.Header.Hash()); i == 0 {
				want = got
			} else {
				require.Equal(n, want, got, "height %d, node %d", h, i)
			}
		}
	}
	return last
}
