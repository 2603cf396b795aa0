package home

import (
	"time"

	"github.com/cometbft/cometbft/config"
)

// DefaultConfig returns CometBFT's configuration with the settings that made a measured difference:
// one block a round (empty blocks only after an idle second), no commit timeout, high rate limits
// and short gossip sleeps. timeout_propose leaves time for the proposer's wait, the aggregation and
// the transfer of the block.
func DefaultConfig() *config.Config {
	c := config.DefaultConfig()
	c.Consensus.TimeoutCommit = 0
	c.Consensus.SkipTimeoutCommit = true
	c.Consensus.TimeoutPropose = 1500 * time.Millisecond
	c.Consensus.TimeoutPrevote = 100 * time.Millisecond
	c.Consensus.TimeoutPrecommit = 100 * time.Millisecond
	c.Consensus.CreateEmptyBlocks = false
	c.Consensus.CreateEmptyBlocksInterval = time.Second
	c.Consensus.PeerGossipSleepDuration = 5 * time.Millisecond
	c.P2P.FlushThrottleTimeout = time.Millisecond
	c.P2P.SendRate = 1_000_000_000
	c.P2P.RecvRate = 1_000_000_000
	c.P2P.MaxPacketMsgPayloadSize = 16384
	c.RPC.MaxBodyBytes = 9 << 20 // max_tx_bytes in base64, and its envelope
	c.Mempool.MaxTxBytes = 6 << 20
	c.Mempool.Size = 10_000
	c.LogLevel = "app:info,worker:info,*:error"
	return c
}

// Loopback changes a configuration for a net on one machine: loopback
// addresses are not routable, and many peers share one.
func Loopback(c *config.Config) {
	c.P2P.PexReactor = false
	c.P2P.AddrBookStrict = false
	c.P2P.AllowDuplicateIP = true
}
