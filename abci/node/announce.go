package node

import (
	"context"
	"time"

	"github.com/cometbft/cometbft/config"
	"github.com/cometbft/cometbft/libs/log"

	"github.com/spdl/spdl/abci"
	"github.com/spdl/spdl/app"
)

// noPeersAfter is the time without a peer after which a node warns.
const noPeersAfter = 10 * time.Second

// announce logs the start of the node: its id, its chain, its addresses and its height.
func (r *Running) announce(c *config.Config, logger log.Logger) {
	chain, height := "", uint64(0)
	if s := r.Application.State(); s != nil {
		chain, height = s.ChainID, s.Height
	}
	logger.Info("the node starts", "version", abci.Version, "chain", chain, "node", r.Node.NodeInfo().ID(),
		"p2p", c.P2P.ListenAddress, "rpc", c.RPC.ListenAddress, "home", c.RootDir, "height", height)
}

// validators returns the number of validators in a state, 0 for a nil state.
func validators(s *app.State) (n int) {
	if s == nil {
		return 0
	}
	for _, p := range s.Participants {
		if p.Active && len(p.ConsensusKey) > 0 {
			n++
		}
	}
	return n
}

// reportNoPeers logs one line if the node has no peer after a time.
func reportNoPeers(ctx context.Context, peers func() int, after time.Duration, logger log.Logger) {
	select {
	case <-ctx.Done():
	case <-time.After(after):
		if peers() == 0 {
			logger.Info("no peers yet: the chain stands until enough validators are connected (spdl doctor probes them)",
				"waited", after)
		}
	}
}
