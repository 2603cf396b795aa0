package node

import (
	"context"
	"time"

	"github.com/cometbft/cometbft/libs/log"
	rpclocal "github.com/cometbft/cometbft/rpc/client/local"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/node"
)

// logStandstill warns, and again each minute, while the node, whose blocks are its peers', has waited longer than
// client.Overdue for the next: which validators vote, and which do not.
func logStandstill(ctx context.Context, n *node.Running, logger log.Logger) {
	rpc, pause := rpclocal.New(n.Node), client.Overdue
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		pause = client.Overdue
		s := n.Application.State()
		if s == nil || n.Node.ConsensusReactor().WaitSync() {
			continue
		}
		votes, err := client.ReadVotes(ctx, rpc, s.Participants)
		if waits := time.Since(votes.Since); err == nil && waits > client.Overdue {
			pause = time.Minute
			logger.Warn(votes.Standstill(), "height", s.Height+1, "seconds", int(waits.Seconds()))
		}
	}
}
