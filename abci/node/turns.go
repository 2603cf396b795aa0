package node

import (
	"time"

	"github.com/cometbft/cometbft/config"
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

// decided reports whether most connected peers are beyond a height.
func (r *Running) decided(height int64) bool {
	heights, beyond := r.peerHeights(), 0
	for _, at := range heights {
		if at > height {
			beyond++
		}
	}
	return 2*beyond > len(heights)
}
