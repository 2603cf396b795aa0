package node

import (
	"context"
	"time"

	"github.com/cometbft/cometbft/libs/log"
)

// outgrownInterval is the interval at which a node checks whether the chain has outgrown the node's
// limits on message sizes.
const outgrownInterval = 5 * time.Second

// watchSizes checks the limits on message sizes until ctx ends. If the chain's blocks have outgrown
// the limits while the node fetches blocks, watchSizes stops the node. If only the chain's
// transactions have outgrown the limits, it warns once.
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
