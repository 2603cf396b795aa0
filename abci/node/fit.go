package node

import (
	"time"

	"github.com/cometbft/cometbft/config"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
)

// transferRate is how many bytes a second nodes are reckoned to carry and judge: each one's
// gradients and block go to all validators. Half of what a gigabit a second carries, so that a
// slower link, or nodes that share two cores, have room.
const transferRate = 50_000_000

// carriage returns how long it may take that a round's bytes reach all validators, when all active
// participants are in the round.
func carriage(p params.Params, all []app.Participant) time.Duration {
	n, validators := 0, 0
	for i := range all {
		if !all[i].Active {
			continue
		}
		n++
		if len(all[i].ConsensusKey) > 0 {
			validators++
		}
	}
	return carriageOf(p, n, validators)
}

// carriageOf returns the same for numbers of participants and of validators among them.
func carriageOf(p params.Params, n, validators int) time.Duration {
	return time.Duration(p.RoundBytes(n)*int64(validators)) * (time.Second / transferRate)
}

// fit returns a home's configuration with the waits that the rounds of its chain need: what the
// files say, and the time that their bytes take, which grows with d and N. The waits only bound
// what is silent, so that too long ones cost where a node is away alone. Who changes them in files
// changes what is added to. The sizes are at least those that the transactions of the chain need.
func fit(c *config.Config, a AppConfig, g app.Genesis) (*config.Config, AppConfig) {
	c, a = wait(c, a, carriage(g.Params, g.Participants))
	return fitSizes(c, g.Params, len(g.Participants)), a
}

// Fit returns the configuration of a home as Init makes it, as a node of a chain with these
// parameters and so many participants and validators runs with it.
func Fit(p params.Params, n, validators int) (*config.Config, AppConfig) {
	c, a := wait(DefaultConfig(), DefaultAppConfig(), carriageOf(p, n, validators))
	return fitSizes(c, p, n), a
}

// wait returns a configuration whose waits are longer by what more time a round's bytes take.
func wait(c *config.Config, a AppConfig, more time.Duration) (*config.Config, AppConfig) {
	fitted, consensus := *c, *c.Consensus
	fitted.Consensus = &consensus
	a.Proposal.Wait += more
	a.Proposal.StragglerWait += more / 2
	consensus.TimeoutPropose += 3 * more // the wait, the rule and the block's own way
	consensus.TimeoutPrevote += more / 2 // votes come as far apart as the block
	return &fitted, a
}

// fitSizes returns a configuration whose mempool takes the largest transaction of a round, from
// peers and by RPC, where it is in base64, and the transactions of two rounds at once. What the
// files say stays where it is enough. CometBFT gives a channel between peers what max_tx_bytes says
// when the node starts: an epoch with larger transactions than those of genesis and of the state
// needs a restart.
func fitSizes(c *config.Config, p params.Params, n int) *config.Config {
	fitted, mempool, rpc := *c, *c.Mempool, *c.RPC
	fitted.Mempool, fitted.RPC = &mempool, &rpc
	most := p.TxBytes(n)
	mempool.MaxTxBytes = max(mempool.MaxTxBytes, int(most))
	mempool.MaxTxsBytes = max(mempool.MaxTxsBytes, 2*p.RoundBytes(n))
	rpc.MaxBodyBytes = max(rpc.MaxBodyBytes, 2*most)
	return &fitted
}
