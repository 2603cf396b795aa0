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

// lostTurnShare divides timeout_propose for a proposer that missed its last turn (missedProposals).
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

// onFinalized is the application's callback for a decided block. It may change the timeouts,
// because CometBFT reads them only in the goroutine that calls FinalizeBlock.
func (t *proposeTimeout) onFinalized(b *abcitypes.RequestFinalizeBlock, out *app.Outcome) {
	t.set(t.missedProposals.observe(b, includedValidators(out.State, out.Record)))
}

// set shortens the timeout if the first proposer of the next height is likely to miss its turn.
func (t *proposeTimeout) set(lost bool) {
	short := time.Duration(0)
	if lost {
		short = t.baseTimeout - t.baseTimeout/lostTurnShare
	}
	t.consensus.TimeoutPropose, t.consensus.TimeoutProposeDelta = t.baseTimeout-short, t.delta+short
}

// isDecided reports whether a height is decided, according to the connected nodes of members.
func (r *Running) isDecided(height int64) bool {
	s := r.Application.State()
	return s != nil && isDecidedBy(s.Participants, r.peerHeights(), height)
}

// isDecidedBy reports whether more than f members with a validator have a registered node beyond a
// height. f is params.MaxByzantine of the number of members with a validator, so at least one of
// these nodes is honest and has the block. The handshake of a connection proves the node id of a
// peer, so neither strangers nor many hosts of one member add to the count. A member without a
// registered node does not count.
func isDecidedBy(members []app.Participant, heights map[p2p.ID]int64, height int64) bool {
	validators, beyond := 0, 0
	for i := range members {
		p := &members[i]
		if !p.Active || len(p.ConsensusKey) == 0 {
			continue
		}
		validators++
		if slices.ContainsFunc(p.NodeIds, func(id string) bool { return heights[p2p.ID(id)] > height }) {
			beyond++
		}
	}
	return beyond > params.MaxByzantine(validators)
}
