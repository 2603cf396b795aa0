package node

import (
	"time"

	abcitypes "github.com/cometbft/cometbft/abci/types"
	"github.com/cometbft/cometbft/config"

	"github.com/spdl/spdl/abci/network"
	"github.com/spdl/spdl/app"
)

// lostTurnShare is the divisor of timeout_propose for a proposer that missed its last turn (see missedProposals).
const lostTurnShare = 10

// proposeTimeout sets CometBFT's timeout for the first proposer of the next height. The second
// proposer of a height always has the full timeout.
type proposeTimeout struct {
	consensus          *config.ConsensusConfig
	baseTimeout, delta time.Duration
	missedProposals    missedProposals
}

func newProposeTimeout(c *config.ConsensusConfig) *proposeTimeout {
	return &proposeTimeout{consensus: c, baseTimeout: c.TimeoutPropose, delta: c.TimeoutProposeDelta}
}

// onFinalized is the application's callback for a decided block. It is safe to change the timeouts
// here, because CometBFT reads them only in the goroutine that calls FinalizeBlock.
func (t *proposeTimeout) onFinalized(b *abcitypes.RequestFinalizeBlock, out *app.Outcome) {
	t.adapt(t.missedProposals.observe(b, includedValidators(out.State, out.Record)))
}

// adapt sets the timeouts for the next height. The timeout of its first proposer is short if
// isSilent is set (see missedProposals.observe).
func (t *proposeTimeout) adapt(isSilent bool) {
	short := time.Duration(0)
	if isSilent {
		short = t.baseTimeout - t.baseTimeout/lostTurnShare
	}
	t.consensus.TimeoutPropose, t.consensus.TimeoutProposeDelta = t.baseTimeout-short, t.delta+short
}

// blocksBehind returns the number of decided blocks that this node has not committed. Which blocks
// are decided is judged by the heights that the connected nodes of members report.
func (r *Running) blocksBehind() int64 {
	s := r.Application.State()
	if s == nil {
		return 0
	}
	return max(0, network.Decided(s.Participants, r.network.PeerHeights())-int64(s.Height))
}
