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

// TestJoinFlood: strangers send 67 valid Joins of new keys a second each to the nodes' RPC, ten of
// them, or as many as the machine lets them. At least three of four rounds close that close while
// they send as many bytes that are no transaction: what any request costs a node, and the strangers
// on this machine, is the front door's to limit (docs/proxy), and what a Join costs the pool's.
func TestJoinFlood(t *testing.T) {
	n := start(t, testnet.Manifest{Validators: 4})
	n.reach(40)
	status, err := n.clients[0].Status(context.Background())
	require.NoError(t, err)
	rounds := func() int {
		first := n.open(0)
		time.Sleep(5 * time.Second)
		return int(n.open(0) - first)
	}
	flood := make([][]byte, 7000)
	for i := range flood {
		flood[i] = joinOf(t, status.ChainID)
	}
	garbage := make([][]byte, len(flood))
	for i, join := range flood {
		garbage[i] = make([]byte, len(join))
		_, _ = rand.Read(garbage[i])
	}
	// flooded returns the rounds of five seconds in which a flood goes to the nodes, and how much of it.
	flooded := func(flood [][]byte) (closed, sent int) {
		ctx, end := context.WithCancel(context.Background())
		over := make(chan struct{})
		go func() {
			defer close(over)
			tick := time.NewTicker(time.Second / 670)
			defer tick.Stop()
			for ; ctx.Err() == nil && sent < len(flood); sent++ {
				<-tick.C
				_, _ = n.clients[sent%4].RPC().BroadcastTxAsync(ctx, flood[sent]) // the pool may be full
			}
		}()
		closed = rounds()
		end()
		<-over
		return closed, sent
	}
	var other, during, bytes, joins int
	for range 2 { // in turns: other work on the machine comes and goes
		closed, sent := flooded(garbage[bytes:])
		other, bytes = other+closed, bytes+sent
		closed, sent = flooded(flood[joins:])
		during, joins = during+closed, joins+sent
	}
	t.Logf("%d rounds in 10 s with %d requests of garbage, %d with %d Joins", other, bytes, during, joins)
	require.GreaterOrEqual(t, 4*during, 3*other)
}
