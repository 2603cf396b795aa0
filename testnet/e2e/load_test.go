//go:build e2e

package e2e

import (
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci"
	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/app/leader"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/testnet"
)

// stranger returns a valid request of a new key for membership, as a worker alone.
func stranger(chain string) *tx.Tx {
	_, key, _ := ed25519.GenerateKey(rand.Reader)
	_, vrf, _ := ed25519.GenerateKey(rand.Reader)
	pub := key.Public().(ed25519.PublicKey)
	t, err := tx.Sign(chain, &tx.Join{
		PubKey: pub, VrfKey: vrf.Public().(ed25519.PublicKey),
		VrfProof: leader.Prove(vrf, leader.PossessionInput(chain, pub)), Moniker: "stranger",
	}, key)
	if err != nil {
		panic(err)
	}
	return t
}

// crowd is clients that each ask something every second: the state, the last record, the model, a
// draft, the search index, or for membership with a new key.
type crowd struct {
	answered, refused, failed atomic.Int64
	slowest                   atomic.Int64
}

func (c *crowd) run(ctx context.Context, n *net, clients int) {
	var wg sync.WaitGroup
	for k := range clients {
		wg.Go(func() {
			own, err := client.New(n.Net.Nodes[k%len(n.Net.Nodes)].RPC)
			if err != nil {
				return
			}
			time.Sleep(time.Second * time.Duration(k) / time.Duration(clients))
			for i := 0; ctx.Err() == nil; i++ {
				start := time.Now()
				c.ask(ctx, n.Net.Manifest.ChainID, own, k+i)
				took := time.Since(start)
				for was := c.slowest.Load(); int64(took) > was && !c.slowest.CompareAndSwap(was,
					int64(took)); was = c.slowest.Load() {
				}
				time.Sleep(time.Second - min(took, time.Second))
			}
		})
	}
	wg.Wait()
}

func (c *crowd) ask(ctx context.Context, chain string, own *client.Client, what int) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	var code uint32
	var err error
	paths := []string{"/status", "/participants", "/model", fmt.Sprintf("/lead/%d", what%4), "/membership"}
	switch what %= len(paths) + 2; what {
	case len(paths):
		per := 10
		_, err = own.RPC().TxSearch(ctx, "round.height>0", false, nil, &per, "desc")
	case len(paths) + 1:
		r, e := own.RPC().BroadcastTxSync(ctx, stranger(chain).Raw)
		if err = e; e == nil {
			code = r.Code
		}
	default:
		r, e := own.RPC().ABCIQuery(ctx, paths[what], nil)
		if err = e; e == nil {
			code = r.Response.Code
		}
	}
	switch {
	case ctx.Err() == context.Canceled:
	case err != nil:
		c.failed.Add(1)
	case code != abci.CodeOK:
		c.refused.Add(1)
	default:
		c.answered.Add(1)
	}
}

// TestRoundsUnderLoad: 200 clients of the nodes' RPC, one in seven of whose questions asks for
// membership with a new key, slow rounds down and keep none from closing.
func TestRoundsUnderLoad(t *testing.T) {
	const clients, short, long = 200, 5 * time.Second, 10 * time.Second
	n := start(t, testnet.Manifest{Validators: 4})
	n.reach(10)
	rate := func(over time.Duration) float64 {
		from, begin := n.open(0), time.Now()
		time.Sleep(over)
		return float64(n.open(0)-from) / time.Since(begin).Seconds()
	}
	before := rate(short)
	ctx, cancel := context.WithCancel(context.Background())
	var c crowd
	gone := make(chan struct{})
	go func() { c.run(ctx, n, clients); close(gone) }()
	from := n.open(0)
	during := rate(long)
	until := n.open(0)
	cancel()
	<-gone
	after := rate(short)
	n.alive()
	views := 0
	for round := from; round < until; round++ {
		r := n.record(0, round)
		require.GreaterOrEqual(t, len(r.Contributions), 3)
		if r.View > 0 {
			views++
		}
	}
	t.Logf("%.1f rounds a second, with %d clients %.1f, after them %.1f; %d answers, %d refusals, %d failures, the "+
		"slowest %v; %d of %d rounds closed in a later view",
		before, clients, during, after, c.answered.Load(), c.refused.Load(), c.failed.Load(),
		time.Duration(c.slowest.Load()).Round(time.Millisecond), views, until-from)
	require.Greater(t, until, from+10)
	require.Greater(t, c.answered.Load(), int64(clients))
	n.sameHashes()
}
