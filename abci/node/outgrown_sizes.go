package node

import (
	"context"
	"time"

	"github.com/cometbft/cometbft/libs/log"
)

// outgrownInterval is the interval at which a node checks whether its chain has outgrown its
// limits.
const outgrownInterval = 5 * time.Second

// watchSizes checks the limits on sizes until ctx ends. If the chain's blocks have outgrown them
// while the node fetches blocks, it stops the node. If the chain's transactions have, it warns.
func (r *Running) watchSizes(ctx context.Context, logger log.Logger) {
	warned := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(outgrownInterval):
		}
		s := r.Application.State()
		if s == nil {
			continue
		}
		if err := r.network.CheckOutgrown(s); err != nil && r.Node.ConsensusReactor().WaitSync() {
			r.fail(err)
			return
		}
		if !warned && !r.network.Fit(s.Params, s.Active()) {
			warned = true
			logger.Error("transactions of a round may be larger than this node takes since its start: start it again")
		}
	}
}
