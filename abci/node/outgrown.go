package node

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cometbft/cometbft/blocksync"
	"github.com/cometbft/cometbft/libs/log"

	"github.com/spdl/spdl/app"
)

// errOutgrown reports a node that fetches blocks larger than the limits of its start.
var errOutgrown = errors.New("the chain's blocks have outgrown what this node takes since its start: start it again")

// outgrownPause is the interval at which a node checks whether its chain has outgrown its limits.
const outgrownPause = 5 * time.Second

// outgrown returns an error if the capacities are too small for the chain of a state.
func (of capacities) outgrown(s *app.State) error {
	if most := int64(of[blocksync.BlocksyncChannel]); s.Progress.BlockBytes > most {
		return fmt.Errorf("%w: they may have %d bytes, it takes %d", errOutgrown, s.Progress.BlockBytes, most)
	}
	return nil
}

// watchSizes stops the node if it fetches blocks and the chain has outgrown its limits, and warns
// if transactions have.
func (r *Running) watchSizes(ctx context.Context, logger log.Logger) {
	warned := false
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(outgrownPause):
		}
		s := r.Application.State()
		if s == nil {
			continue
		}
		if err := r.bounds.outgrown(s); err != nil && r.Node.ConsensusReactor().WaitSync() {
			r.fail(err)
			return
		}
		if !warned && !r.bounds.takes(s.Params, s.Active()) {
			warned = true
			logger.Error("transactions of a round may be larger than this node takes since its start: start it again")
		}
	}
}
