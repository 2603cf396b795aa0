package home

import (
	"time"

	"github.com/cometbft/cometbft/config"

	"github.com/spdl/spdl/abci/limit"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
)

// Tune returns a home's configuration with the timeouts and size limits that the rounds of its chain need. Each timeout
// is the value in the file plus a multiple of the transfer time of a round's bytes, which grows with the numbers of
// model parameters and participants. A timeout matters only when a node is silent, so long timeouts are cheap. Size
// limits are at least the sizes of the chain's transactions.
func Tune(c *config.Config, a AppConfig, g app.Genesis) (*config.Config, AppConfig) {
	c, a = extendTimeouts(c, a, limit.TransferTime(g.Params, g.Participants))
	return TuneSizes(c, g.Params, len(g.Participants)), a
}

// DefaultsFor returns the default configuration for a chain with the parameters p, n participants
// and a number of validators, with the timeouts and size limits of Tune.
func DefaultsFor(p params.Params, n, validators int) (*config.Config, AppConfig) {
	c, a := extendTimeouts(DefaultConfig(), DefaultAppConfig(), limit.TransferTimeFor(p, n, validators))
	return TuneSizes(c, p, n), a
}

// extendTimeouts returns a configuration with longer timeouts. transfer is the transfer time of a round's bytes.
func extendTimeouts(c *config.Config, a AppConfig, transfer time.Duration) (*config.Config, AppConfig) {
	fitted, consensus := *c, *c.Consensus
	fitted.Consensus = &consensus
	a.Proposal.Wait.Duration += transfer
	a.Proposal.StragglerWait.Duration += transfer / 2
	consensus.TimeoutPropose += 3 * transfer // leaves time for the proposer's wait, the rule and the block's transfer
	consensus.TimeoutPrevote += transfer / 2 // votes are spread over the time in which the block reaches the nodes
	return &fitted, a
}

// TuneSizes returns a configuration whose mempool and RPC accept the largest transaction of a
// round, and whose mempool holds the transactions of two rounds. Larger values in the files stay.
// CometBFT derives the size of messages on the mempool's channel from max_tx_bytes when the node
// starts, so a later epoch with larger transactions needs a restart of the node.
func TuneSizes(c *config.Config, p params.Params, n int) *config.Config {
	fitted, mempool, rpc := *c, *c.Mempool, *c.RPC
	fitted.Mempool, fitted.RPC = &mempool, &rpc
	most := p.TxBytes(n)
	mempool.MaxTxBytes = max(mempool.MaxTxBytes, int(most))
	mempool.MaxTxsBytes = max(mempool.MaxTxsBytes, 2*p.RoundBytes(n))
	rpc.MaxBodyBytes = max(rpc.MaxBodyBytes, 2*most)
	return &fitted
}
