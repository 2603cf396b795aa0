package home

import (
	"time"

	"github.com/cometbft/cometbft/config"

	"github.com/spdl/spdl/abci/limit"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
)

// Tune returns a home's configuration with the timeouts that the rounds of its chain need: the
// values in the files plus multiples of the transfer time of a round's bytes, which grows with d
// and N. Timeouts matter only when a node is silent, so generous timeouts are cheap. The size
// limits are at least the sizes of the chain's transactions.
func Tune(c *config.Config, a AppConfig, g app.Genesis) (*config.Config, AppConfig) {
	c, a = extendTimeouts(c, a, limit.TransferTime(g.Params, g.Participants))
	return TuneSizes(c, g.Params, len(g.Participants)), a
}

// DefaultsFor returns the default configuration fitted to a chain with these parameters, n
// participants and this number of validators.
func DefaultsFor(p params.Params, n, validators int) (*config.Config, AppConfig) {
	c, a := extendTimeouts(DefaultConfig(), DefaultAppConfig(), limit.TransferTimeFor(p, n, validators))
	return TuneSizes(c, p, n), a
}

// extendTimeouts returns a configuration with longer timeouts, where more is the transfer time of a
// round's bytes.
func extendTimeouts(c *config.Config, a AppConfig, more time.Duration) (*config.Config, AppConfig) {
	fitted, consensus := *c, *c.Consensus
	fitted.Consensus = &consensus
	a.Proposal.Wait += more
	a.Proposal.StragglerWait += more / 2
	consensus.TimeoutPropose += 3 * more // for the proposer's wait, the rule and the block's transfer
	consensus.TimeoutPrevote += more / 2 // votes are spread over the time in which the block arrives
	return &fitted, a
}

// TuneSizes returns a configuration whose mempool accepts the largest transaction of a round and
// holds the transactions of two rounds. The RPC accepts that transaction too, in base64. Larger
// values in the files stay. When the node starts, CometBFT derives the message size of the
// mempool's channel between peers from max_tx_bytes. So a later epoch with larger transactions
// needs a restart of the node.
func TuneSizes(c *config.Config, p params.Params, n int) *config.Config {
	fitted, mempool, rpc := *c, *c.Mempool, *c.RPC
	fitted.Mempool, fitted.RPC = &mempool, &rpc
	most := p.TxBytes(n)
	mempool.MaxTxBytes = max(mempool.MaxTxBytes, int(most))
	mempool.MaxTxsBytes = max(mempool.MaxTxsBytes, 2*p.RoundBytes(n))
	rpc.MaxBodyBytes = max(rpc.MaxBodyBytes, 2*most)
	return &fitted
}
