package node

import (
	"slices"
	"time"

	"github.com/cometbft/cometbft/config"
	"github.com/cometbft/cometbft/p2p"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
)

// lostTurnShare is the part of timeout_propose that a proposer gets whose last turn was lost and
// who has not voted since.
const lostTurnShare = 10

// nextTurn returns what sets CometBFT's wait for the next height's proposals. The second proposer
// of a height has the usual time again. FinalizeBlock is the place to call it: CometBFT reads the
// two settings in the goroutine that calls FinalizeBlock, and nowhere else.
func nextTurn(c *config.ConsensusConfig) func(lost bool) {
	usual, delta := c.TimeoutPropose, c.TimeoutProposeDelta
	return func(lost bool) {
		short := time.Duration(0)
		if lost {
			short = usual - usual/lostTurnShare
		}
		c.TimeoutPropose, c.TimeoutProposeDelta = usual-short, delta+short
	}
}

// decided reports whether a height is, by what the connected peers say of themselves.
func (r *Running) decided(height int64) bool {
	s := r.Application.State()
	return s != nil && decidedBy(s.Participants, r.peerHeights(), height)
}

// decidedBy reports whether more validators' members than can be Byzantine say by their registered
// nodes that they are beyond a height: one of them is honest, and has the block. A connection proves
// whose node its peer is, so neither strangers nor the many hosts of one member add to the count.
// A member without a registered node does not count either.
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
