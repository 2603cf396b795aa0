package node

import (
	"context"
	"time"

	"github.com/cometbft/cometbft/libs/log"
	rpclocal "github.com/cometbft/cometbft/rpc/client/local"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/node"
	"github.com/spdl/spdl/internal/wait"
)

// logStandstill warns, and again each minute, while the node, whose blocks are its peers', has waited longer than
// client.Overdue for the next: which validators vote, and which do not. It logs when a block comes again.
func logStandstill(ctx context.Context, n *node.Running, logger log.Logger) {
	const pause = time.Second
	overdue := int(client.Overdue / pause)
	height, waits := uint64(0), 0 // in pauses: while the process is stopped, it does not wait
	for rpc := rpclocal.New(n.Node); ; waits++ {
		if wait.For(ctx, pause) != nil {
			return
		}
		s := n.Application.State()
		switch {
		case s == nil || n.Node.ConsensusReactor().WaitSync():
			waits = 0
		case s.Height != height:
			if waits > overdue {
				logger.Info("The chain makes blocks again", "height", s.Height, "seconds", waits)
			}
			height, waits = s.Height, 0
		case waits%60 == overdue:
			if votes, err := client.ReadVotes(ctx, rpc, s.Participants); err == nil {
				logger.Warn(votes.Standstill(), "height", height+1, "seconds", waits)
			}
		}
	}
}
