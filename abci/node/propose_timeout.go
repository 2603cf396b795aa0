package node

import (
	"slices"
	"time"

	abcitypes "github.com/cometbft/cometbft/abci/types"
	"github.com/cometbft/cometbft/config"
	"github.com/cometbft/cometbft/p2p"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
)

// lostTurnShare is the divisor of timeout_propose for a proposer that missed its last turn (see
// missedProposals).
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
	return max(0, decidedHeight(s.Participants, r.peerHeights())-int64(s.Height))
}

// decidedHeight returns the greatest height that is certainly decided, or a value below 0 if there
// is none. A height is certainly decided if the nodes of more than f members report greater
// heights: at least one of these members is honest, and its node has the block. Only members with a
// validator and a registered node count; f is params.MaxByzantine of the number of members with a
// validator. The handshake proves a peer's node id, so neither strangers nor several hosts of one
// member add to the count.
func decidedHeight(members []app.Participant, heights map[p2p.ID]int64) int64 {
	var reported []int64 // by member: the greatest height of its nodes, 0 if none is connected
	for i := range members {
		p := &members[i]
		if !p.Active || len(p.ConsensusKey) == 0 {
			continue
		}
		height := int64(0)
		for _, id := range p.NodeIds {
			height = max(height, heights[p2p.ID(id)])
		}
		reported = append(reported, height)
	}
	if len(reported) == 0 {
		return -1
	}
	slices.Sort(reported)
	return reported[len(reported)-1-params.MaxByzantine(len(reported))] - 1
}
