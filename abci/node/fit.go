package node

import (
	"time"

	"github.com/cometbft/cometbft/config"

	"github.com/spdl/spdl/app"
)

// transferRate is how many bytes a second nodes are reckoned to carry and judge: each one's gradients
// and block go to all validators. Half of what a gigabit a second carries, so that a slower link, or
// nodes that share two cores, have room.
const transferRate = 50_000_000

// carriage returns how long it may take that a round's bytes reach all validators, by genesis.
func carriage(g app.Genesis) time.Duration {
	validators := 0
	for _, p := range g.Participants {
		if len(p.ConsensusKey) > 0 {
			validators++
		}
	}
	bytes := g.Params.RoundBytes(len(g.Participants)) * int64(validators)
	return time.Duration(bytes) * (time.Second / transferRate)
}

// fit returns a home's configuration with the waits that the rounds of its chain need: what the files
// say, and the time that their bytes take, which grows with d and N. The waits only bound what is
// silent, so that too long ones cost where a node is away alone. Who changes them in files changes
// what is added to.
func fit(c *config.Config, a AppConfig, g app.Genesis) (*config.Config, AppConfig) {
	more := carriage(g)
	fitted, consensus := *c, *c.Consensus
	fitted.Consensus = &consensus
	a.Proposal.Wait += more
	a.Proposal.StragglerWait += more / 2
	consensus.TimeoutPropose += 2 * more // the wait, the rule and the block's own way
	return &fitted, a
}
