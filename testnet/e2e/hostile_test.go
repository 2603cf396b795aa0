//go:build e2e

package e2e

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci"
	"github.com/spdl/spdl/abci/node"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/testnet"
)

// TestHostile sends what an outsider and a participant without scruples can
// send to every node's RPC while four nodes train: each is refused with a code
// and a message, nothing panics, the rounds go on.
func TestHostile(t *testing.T) {
	n := start(t, testnet.Manifest{Validators: 4})
	n.reach(3, time.Minute)
	first, _ := n.round(0)
	chain := n.Net.Manifest.ChainID
	key, err := node.LoadKey(n.Net.Nodes[3].Home + "/config/participant_key.json")
	require.NoError(t, err)
	stranger := ed25519.NewKeyFromSeed(bytes.Repeat([]byte{9}, 32))
	d := n.Net.Genesis.Params.Model.Dim()
	rng := rand.New(rand.NewPCG(7, 7))
	noise := func(size int) []byte {
		b := make([]byte, size)
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		return b
	}
	sign := func(chain string, b tx.Body, key ed25519.PrivateKey) []byte {
		x, err := tx.Sign(chain, b, key)
		require.NoError(t, err)
		return x.Raw
	}
	gradient := func(round uint64, participant uint32, payload []byte) *tx.Gradient {
		return &tx.Gradient{Round: round, Participant: participant, Payload: payload}
	}
	sent, refused := 0, map[string]int{}
	start := time.Now()
	for i := 0; time.Since(start) < 20*time.Second; i++ {
		open, _ := n.round(i % 4)
		good := make([]byte, d)
		valid := sign(chain, gradient(open, 3, good), key)
		attempts := map[string][]byte{
			"empty":              {},
			"random":             noise(1 + rng.IntN(5000)),
			"random envelope":    append([]byte{8, 1, 18}, noise(300)...),
			"truncated":          valid[:rng.IntN(len(valid))],
			"bit flipped":        flip(valid, rng),
			"trailing":           append(bytes.Clone(valid), 0),
			"oversized":          sign(chain, gradient(open, 3, make([]byte, 3<<20)), key),
			"beyond the mempool": noise(7 << 20),
			"short":              sign(chain, gradient(open, 3, good[1:]), key),
			"long":               sign(chain, gradient(open, 3, append(good, 0)), key),
			"out of range":       sign(chain, gradient(open, 3, append(bytes.Clone(good[1:]), 0x80)), key),
			"old round":          sign(chain, gradient(0, 3, good), key),
			"far round":          sign(chain, gradient(open+1000, 3, good), key),
			"last round":         sign(chain, gradient(1<<64-1, 3, good), key),
			"other epoch":        sign(chain, &tx.Gradient{Epoch: 1, Round: open, Participant: 3, Payload: good}, key),
			"other chain":        sign("another", gradient(open, 3, good), key),
			"stranger":           sign(chain, gradient(open, 3, good), stranger),
			"no such member":     sign(chain, gradient(open, 1<<32-1, good), stranger),
			"another's name":     sign(chain, gradient(open, 1, good), key),
			"aggregate":          sign(chain, &tx.Aggregate{Round: open, Leader: 3, View: 77}, key),
			"empty aggregate":    sign(chain, &tx.Aggregate{Round: open, Leader: 3, Digest: good[:32]}, key),
		}
		for name, raw := range attempts {
			if len(raw) > 1<<20 && i%10 != 0 {
				continue // the big ones now and then: the machine is to train, too
			}
			for k, c := range n.clients {
				sent++
				ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
				r, err := c.RPC().BroadcastTxSync(ctx, raw)
				cancel()
				switch {
				case err != nil: // by CometBFT: too large, in its cache, malformed
					require.NotEmpty(t, err.Error())
				case r.Code == abci.CodeOK:
					t.Fatalf("%s was admitted by node %d: %X", name, k, raw[:min(len(raw), 40)])
				default:
					require.NotEmpty(t, r.Log, name)
				}
				refused[name]++
			}
		}
		for _, path := range []string{"/", "/round/" + string(noise(20)), "/model/99999999999999999999", "/lead/-1", fmt.Sprintf("/%x", noise(4000))} {
			r, err := n.clients[i%4].RPC().ABCIQuery(context.Background(), path, noise(100))
			require.NoError(t, err)
			require.NotZero(t, r.Response.Code)
			require.NotEmpty(t, r.Response.Log)
		}
		n.alive()
	}
	last, ok := n.round(0)
	require.True(t, ok)
	require.Greater(t, last, first+10, "the rounds must go on")
	n.reach(last+5, time.Minute)
	heights := n.sameHashes()
	t.Logf("%d hostile transactions of %d kinds refused; rounds %d to %d meanwhile; %d heights agree", sent, len(refused), first, last, heights)
}

func flip(raw []byte, rng *rand.Rand) []byte {
	out := bytes.Clone(raw)
	out[rng.IntN(len(out))] ^= 1 << rng.IntN(8)
	return out
}
