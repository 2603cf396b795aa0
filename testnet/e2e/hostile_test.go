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
	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/testnet"
)

// TestHostile sends what an outsider and a participant without scruples can
// send to every node's RPC while four nodes train: each is refused with a code
// and a message, nothing panics, the rounds go on.
func TestHostile(t *testing.T) {
	n := start(t, testnet.Manifest{Validators: 4})
	n.reach(3)
	first := n.open(0)
	chain := n.Net.Manifest.ChainID
	keys, err := new(home.Keystore).LoadKeys(n.Net.Nodes[3].Home + "/config/participant_key.json")
	require.NoError(t, err)
	key := keys.Signing
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
	last := first
	// 20 s and ten rounds, which take longer on a slow machine.
	for i := 0; time.Since(start) < 20*time.Second || last <= first+10 && time.Since(start) < patience; i++ {
		open := n.open(i % 4)
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
			"no such proposal":   sign(chain, &tx.Approve{Participant: 3, Proposal: noise(32)}, key),
			"join, no keys":      sign(chain, &tx.Join{Moniker: "x"}, stranger),
			"join, no proof": sign(chain, &tx.Join{PubKey: stranger[32:], VrfKey: stranger[32:], VrfProof: noise(80)},
				stranger),
			"join, small order": sign(chain, &tx.Join{PubKey: stranger[32:], VrfKey: append([]byte{1}, make([]byte, 31)...),
				VrfProof: noise(80)}, stranger),
			"leave for another": sign(chain, &tx.Remove{Participant: 1, Subject: 1}, key),
			"rotate to nothing": sign(chain, &tx.Rotate{Participant: 3}, key),
			"rotate to another": sign(chain, &tx.Rotate{Participant: 3, PubKey: n.Net.Genesis.Participants[1].PubKey,
				PubKeyProof: noise(64)}, key),
			"restore the sound":   sign(chain, &tx.Restore{Participant: 3, Subject: 1}, key),
			"remove nobody":       sign(chain, &tx.Remove{Participant: 3, Subject: 1 << 30}, key),
			"evidence, random":    evidence(t, noise(90), noise(90)),
			"evidence, unsigned":  evidence(t, header(3, 1), header(3, 2)),
			"evidence, equal":     evidence(t, header(3, 1), header(3, 1)),
			"epoch of a stranger": sign(chain, &tx.StartEpoch{Participant: 1, Epoch: 1, Params: noise(50)}, stranger),
			"epoch, random":       sign(chain, &tx.StartEpoch{Participant: 3, Epoch: 1, Params: noise(50)}, key),
			"epoch, no params":    sign(chain, &tx.StartEpoch{Participant: 3, Epoch: 1}, key),
			"epoch, far":          sign(chain, &tx.StartEpoch{Participant: 3, Epoch: 1 << 60}, key),
			"empty aggregate":     sign(chain, &tx.Aggregate{Round: open, Leader: 3, Digest: good[:32]}, key),
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
		for _, path := range []string{"/", "/round/" + string(noise(20)), "/model/99999999999999999999", "/lead/-1",
			fmt.Sprintf("/%x", noise(4000))} {
			r, err := n.clients[i%4].RPC().ABCIQuery(context.Background(), path, noise(100))
			require.NoError(t, err)
			require.NotZero(t, r.Response.Code)
			require.NotEmpty(t, r.Response.Log)
		}
		n.alive()
		last = n.open(0)
	}
	require.Greater(t, last, first+10, "the rounds must go on")
	n.reach(last + 5)
	heights := n.sameHashes()
	t.Logf("%d hostile transactions of %d kinds refused; rounds %d to %d during them; %d heights agree", sent,
		len(refused), first, last, heights)
}

func flip(raw []byte, rng *rand.Rand) []byte {
	out := bytes.Clone(raw)
	out[rng.IntN(len(out))] ^= 1 << rng.IntN(8)
	return out
}

// header returns a gradient's, of participant p.
func header(p uint32, payload byte) []byte {
	g := tx.Gradient{Participant: p, Payload: []byte{payload}}
	h := g.Header()
	data, err := h.Marshal()
	if err != nil {
		panic(err)
	}
	return data
}

// evidence accuses of two headers, with signatures of noughts.
func evidence(t *testing.T, first, second []byte) []byte {
	t.Helper()
	x, err := tx.Sign("", &tx.Evidence{Kind: 1, First: first, FirstSignature: make([]byte, 64), Second: second,
		SecondSignature: make([]byte, 64)}, nil)
	require.NoError(t, err)
	return x.Raw
}
