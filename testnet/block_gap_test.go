package testnet

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cometbft/cometbft/libs/log"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/abci/node"
	"github.com/spdl/spdl/internal/stage"
)

// lines collects log lines of several goroutines.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// TestNodeBeyondRetention: a node is away until its peers have dropped the block that it needs next.
// It does not say that it has caught up, and does not enter consensus, neither with its old state nor
// after reset-state at height 1, so it neither votes nor trains. Its log and its answers say why, and
// what to do. State sync brings it back.
func TestNodeBeyondRetention(t *testing.T) {
	stage.OnlyLong(t) // runs a net for 100 blocks
	n, err := Init(Manifest{Home: t.TempDir(), Rounds: 100_000, Seed: 1})
	require.NoError(t, err)
	for i := range n.Nodes {
		n.Nodes[i].app.Retain.Heights, n.Nodes[i].app.Snapshot.Interval = 20, 60 // blocks after a snapshot are kept
	}
	const away = 3
	c, a := n.Nodes[away].home.Config, n.Nodes[away].app
	p, err := StartInProcess(n, log.NewNopLogger())
	require.NoError(t, err)
	defer func() { require.NoError(t, p.Stop()) }()
	climb(t, p.Nodes, 3, 3*time.Minute)
	require.NoError(t, p.Nodes[away].Stop())
	height := heightOf(p.Nodes[away])
	require.Eventually(t, func() bool {
		for _, r := range p.Nodes[:away] {
			if r.Node.BlockStore().Base() <= int64(height)+1 {
				return false
			}
		}
		return true
	}, 5*time.Minute, 50*time.Millisecond, "no block is dropped")

	rpc, err := client.New(n.Nodes[away].RPC)
	require.NoError(t, err)
	start := func() *lines {
		var said lines
		p.Nodes[away], err = node.Start(c, a, log.NewTMLogger(&said), n.Manifest.Hooks(away))
		require.NoError(t, err)
		return &said
	}
	isStuck := func(said *lines, height uint64) {
		t.Helper()
		text := fmt.Sprintf("no peer has block %d, which this node needs next", height+1)
		require.Eventually(t, func() bool { return strings.Contains(said.String(), text) }, time.Minute, 50*time.Millisecond)
		require.Contains(t, said.String(), "spdl reset-state --yes, then CMT_STATESYNC_ENABLE=true")
		require.NotContains(t, said.String(), "has caught up")
		require.True(t, p.Nodes[away].Node.ConsensusReactor().WaitSync())
		require.Equal(t, height, heightOf(p.Nodes[away]))
		view, err := rpc.Connections(context.Background())
		require.NoError(t, err)
		gap, _ := view.Gap()
		require.Contains(t, gap, text)
		require.Greater(t, view.OldestBlock, int64(height)+1)
		require.NoError(t, p.Nodes[away].Stop())
	}
	isStuck(start(), height)
	require.NoError(t, home.ResetState(c, a))
	isStuck(start(), 0)

	require.NoError(t, home.ResetState(c, a))
	trust := p.Nodes[0].Node.BlockStore().Base() + 1
	c.StateSync.Enable, c.StateSync.TrustHeight = true, trust
	c.StateSync.TrustHash = p.Nodes[0].Node.BlockStore().LoadBlockMeta(trust).BlockID.Hash.String()
	c.StateSync.RPCServers = []string{n.Nodes[0].RPC, n.Nodes[1].RPC}
	c.StateSync.DiscoveryTime = 5 * time.Second
	tip := heightOf(p.Nodes[0])
	said := start()
	require.Eventually(t, func() bool { return strings.Contains(said.String(), "has caught up") }, 3*time.Minute,
		50*time.Millisecond)
	require.GreaterOrEqual(t, heightOf(p.Nodes[away])+1, tip, "it is at the snapshot's height")
	climb(t, p.Nodes, heightOf(p.Nodes[0])+3, 3*time.Minute)
}
