//go:build e2e

package e2e

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/leader"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/testnet"
)

// joinOf returns a valid request of new keys to join a chain.
func joinOf(t *testing.T, chainID string) []byte {
	pub, key, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	vrf, vrfKey, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	consensus, consensusKey, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	x, err := tx.Sign(chainID, &tx.Join{
		PubKey: pub, VrfKey: vrf, VrfProof: leader.Prove(vrfKey, leader.PossessionInput(chainID, pub)),
		ConsensusKey: consensus, ConsensusProof: app.ProveConsensusKey(chainID, pub, consensusKey),
		Moniker: strings.Repeat("x", 70), Address: strings.Repeat("y", 256), NodeIds: []string{strings.Repeat("a", 40)},
	}, key)
	require.NoError(t, err)
	return x.Raw
}

// TestJoinFlood: ten strangers send 67 valid Joins of new keys a second each to the nodes, or as
// many as the machine lets them. At least three of four rounds close.
func TestJoinFlood(t *testing.T) {
	n := start(t, testnet.Manifest{Validators: 4})
	n.reach(40)
	status, err := n.clients[0].Status(context.Background())
	require.NoError(t, err)
	rounds := func() int {
		first := n.open(0)
		time.Sleep(10 * time.Second)
		return int(n.open(0) - first)
	}
	flood := make([][]byte, 7000)
	for i := range flood {
		flood[i] = joinOf(t, status.ChainID)
	}
	before := rounds()
	ctx, end := context.WithCancel(context.Background())
	sent, over := 0, make(chan struct{})
	go func() {
		defer close(over)
		tick := time.NewTicker(time.Second / 670)
		defer tick.Stop()
		for ; ctx.Err() == nil && sent < len(flood); sent++ {
			<-tick.C
			_, _ = n.clients[sent%4].RPC().BroadcastTxAsync(ctx, flood[sent]) // the pool may be full
		}
	}()
	during := rounds()
	end()
	<-over
	t.Logf("%d rounds in 10 s, %d with %d Joins, %d after", before, during, sent, rounds())
	require.GreaterOrEqual(t, 4*during, 3*before)
}
