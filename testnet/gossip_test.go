package testnet

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/cometbft/cometbft/libs/log"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/abci/metrics"
	"github.com/spdl/spdl/internal/stage"
)

// TestGradientsTravelOnce: nets of 4 and of 10 nodes train, and a node receives less than two
// copies of each. A net that floods, and one of both kinds of nodes, train too, and a flood brings
// more.
func TestGradientsTravelOnce(t *testing.T) {
	stage.OnlyLong(t)              // runs nets
	announced := map[int]float64{} // what a node received over what is needed, of nets of n nodes that do not flood
	for _, c := range []struct {
		n      int
		gossip string
		flood  int // nodes of them that flood
	}{{4, home.GossipAnnounce, 0}, {10, home.GossipAnnounce, 0}, {4, home.GossipFlood, 4}, {4, home.GossipAnnounce, 2}} {
		t.Run(fmt.Sprintf("n=%d, %d of them flood", c.n, c.flood), func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
			defer cancel()
			const rounds = 12
			n, err := Init(Manifest{Home: t.TempDir(), Preset: "pixels", Validators: c.n, Gossip: c.gossip, Rounds: rounds,
				Seed: 1, Memory: true})
			require.NoError(t, err)
			for i := range c.flood {
				n.Nodes[i].app.P2P.Gossip = home.GossipFlood
			}
			nodes, err := StartInProcess(n, log.NewNopLogger())
			require.NoError(t, err)
			defer func() { require.NoError(t, nodes.Stop()) }()
			included := 0
			require.NoError(t, Follow(ctx, n, nil, func(r Round) error {
				included += r.Included
				return nil
			}))
			var all int64
			for _, r := range nodes.Nodes {
				got := r.ReceivedBytes()
				t.Log(got)
				all += got[metrics.ReceivedNew] + got[metrics.ReceivedKnown] + got[metrics.ReceivedRefused]
			}
			p := n.Genesis.Params
			need := int64(included) * int64(c.n-1) * int64(p.Model.Dim()*int(p.Grid.Width))
			ratio := float64(all) / float64(need)
			t.Logf("%d gradients in %d rounds, %.2f times what is needed", included, rounds, ratio)
			switch c.flood {
			case 0:
				require.Less(t, ratio, 2.0)
				announced[c.n] = ratio
			case c.n:
				require.Greater(t, ratio, announced[c.n])
			}
		})
	}
}
