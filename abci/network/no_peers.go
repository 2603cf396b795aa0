package network

import (
	"context"
	"time"

	"github.com/cometbft/cometbft/libs/log"

	"github.com/spdl/spdl/app"
)

// noPeersAfter is the time without a peer after which a node warns.
const noPeersAfter = 10 * time.Second

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

// reportNoPeers logs one line if the node has no peer after the given time.
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
