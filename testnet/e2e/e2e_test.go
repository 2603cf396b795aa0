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
	"github.com/spdl/spdl/testnet"
)

// binary is spdl, built once.
var binary string

func TestMain(m *testing.M) {
	dir, err := os.MkdirTemp("", "spdl-e2e-")
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
	binary = filepath.Join(dir, "spdl")
	code := 1
	if out, err := exec.Command("go", "build", "-o", binary, "../../cmd/spdl").CombinedOutput(); err != nil {
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

// alive fails the test if a node ended by itself.
func (n *net) alive() {
	n.Helper()
	select {
	case err := <-n.Failed():
		require.NoError(n, err)
	default:
	}
}

// round is the open round as the node knows it, or 0 and false while it does
// not answer.
func (n *net) round(i int) (uint64, bool) {
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	s, err := n.clients[i].Status(ctx)
	return s.Round, err == nil
}

// reach waits until every node has closed the rounds below the given one.
func (n *net) reach(round uint64, within time.Duration) {
	n.Helper()
	require.Eventually(n, func() bool {
		n.alive()
		for i := range n.clients {
			if at, ok := n.round(i); !ok || at < round {
				return false
			}
		}
		return true
	}, within, 50*time.Millisecond, "not all nodes reached round %d", round)
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
