package node

import (
	"time"

	"github.com/cometbft/cometbft/config"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
)

// transferRate is the assumed rate, in bytes a second, at which nodes transfer and verify: each
// participant's gradient and the block go to all validators. It is less than half of what a gigabit
// a second carries, as a margin for slower links and for nodes that share two cores.
const transferRate = 50_000_000

// carriage returns the estimated time until a round's bytes have reached all validators, when all
// active participants are in the round.
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

// carriageOf returns the same for n participants, with a number of validators among them.
func carriageOf(p params.Params, n, validators int) time.Duration {
	return time.Duration(p.RoundBytes(n)*int64(validators)) * (time.Second / transferRate)
}

// fit returns a home's configuration with the timeouts that the rounds of its chain need: the
// values in the files, extended in proportion to the transfer time of a round's bytes, which grows
// with d and N. Timeouts matter only when a node is silent, so a generous one is cheap. The size
// limits are at least the sizes of the chain's transactions.
func fit(c *config.Config, a AppConfig, g app.Genesis) (*config.Config, AppConfig) {
	c, a = wait(c, a, carriage(g.Params, g.Participants))
	return fitSizes(c, g.Params, len(g.Participants)), a
}

// Fit returns the default configuration fitted to a chain with these parameters, n participants and
// this number of validators.
func Fit(p params.Params, n, validators int) (*config.Config, AppConfig) {
	c, a := wait(DefaultConfig(), DefaultAppConfig(), carriageOf(p, n, validators))
	return fitSizes(c, p, n), a
}

// wait returns a configuration with longer timeouts, where more is the transfer time of a round's
// bytes.
func wait(c *config.Config, a AppConfig, more time.Duration) (*config.Config, AppConfig) {
	fitted, consensus := *c, *c.Consensus
	fitted.Consensus = &consensus
	a.Proposal.Wait += more
	a.Proposal.StragglerWait += more / 2
	consensus.TimeoutPropose += 3 * more // the wait, the rule and the block's transfer
	consensus.TimeoutPrevote += more / 2 // votes are spread over the time in which the block arrives
	return &fitted, a
}

// fitSizes returns a configuration whose mempool takes the largest transaction of a round, from
// peers and by RPC, where it is in base64, and holds the transactions of two rounds. Larger values
// in the files stay. CometBFT fixes the message size of a channel between peers by max_tx_bytes
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
