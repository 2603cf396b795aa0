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
	consensus    *config.ConsensusConfig
	usual, delta time.Duration
	missed       missedProposals
}

func newProposeTimeout(c *config.ConsensusConfig) *proposeTimeout {
	return &proposeTimeout{consensus: c, usual: c.TimeoutPropose, delta: c.TimeoutProposeDelta}
}

// finalized is the application's callback for a decided block. It may change the timeouts, because
// CometBFT reads them only in the goroutine that calls FinalizeBlock.
func (t *proposeTimeout) finalized(b *abcitypes.RequestFinalizeBlock, out *app.Outcome) {
	t.set(t.missed.observe(b, includedValidators(out.State, out.Record)))
}

// set shortens the timeout if the first proposer of the next height is likely to miss its turn.
func (t *proposeTimeout) set(lost bool) {
	short := time.Duration(0)
	if lost {
		short = t.usual - t.usual/lostTurnShare
	}
	t.consensus.TimeoutPropose, t.consensus.TimeoutProposeDelta = t.usual-short, t.delta+short
}

// decided reports whether a height is decided, according to the connected nodes of members.
func (r *Running) decided(height int64) bool {
	s := r.Application.State()
	return s != nil && decidedBy(s.Participants, r.peerHeights(), height)
}

// decidedBy reports whether more than f members with a validator have a registered node beyond a
// height. f is params.MaxByzantine of the number of members with a validator, so at least one of
// these nodes is honest and has the block. The handshake of a connection proves the node id of a
// peer, so neither strangers nor many hosts of one member add to the count. A member without a
// registered node does not count.
func decidedBy(members []app.Participant, heights map[p2p.ID]int64, height int64) bool {
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
