package home

import (
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/cometbft/cometbft/config"

	"github.com/spdl/spdl/app"
)

// NewConfig returns the configuration of a new home with the node's moniker, its listen address, such as
// tcp://0.0.0.0:26656, and its external address as host:port. An empty external address means that peers reach the
// node at the listen address. A node that listens only on a loopback address gets the settings for a net on one
// machine. If both addresses are empty, the node accepts no connections, and only dials its peers.
func NewConfig(moniker, listen, external string) (*config.Config, error) {
	if len(moniker) > app.MaxMoniker {
		return nil, fmt.Errorf("moniker %q has %d bytes, at most %d", moniker, len(moniker), app.MaxMoniker)
	}
	if strconv.Quote(moniker) != `"`+moniker+`"` {
		return nil, fmt.Errorf("moniker %q: CometBFT writes it into config.toml as it is, without quotes or what does not "+
			"print", moniker)
	}
	if listen == "" && external == "" {
		c := DefaultConfig()
		c.Moniker, c.P2P.ListenAddress, c.P2P.PexReactor = moniker, "", false
		return c, nil
	}
	host, _, err := net.SplitHostPort(strings.TrimPrefix(listen, "tcp://"))
	if err != nil {
		return nil, fmt.Errorf("p2p address to listen on %q, want one as tcp://0.0.0.0:26656", listen)
	}
	if _, _, err := net.SplitHostPort(external); err != nil && external != "" {
		return nil, fmt.Errorf("external p2p address %q, want host:port", external)
	}
	c := DefaultConfig()
	c.Moniker, c.P2P.ListenAddress, c.P2P.ExternalAddress = moniker, listen, external
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		UseLoopback(c)
	}
	return c, nil
}

// ListenAt returns the listen address of a node whose external address is host:port. If the host is a loopback
// address, the node listens only there. Otherwise the node listens at the port on all interfaces.
func ListenAt(external string) string {
	host, port, _ := net.SplitHostPort(external)
	if ip := net.ParseIP(host); host == "localhost" || ip != nil && ip.IsLoopback() {
		return "tcp://" + external
	}
	return "tcp://0.0.0.0:" + port
}

// DefaultConfig returns CometBFT's configuration with settings that made a measured difference: one
// block a round (an empty block only after an idle second), no commit timeout, high rate limits and
// short gossip sleeps. timeout_propose leaves time for the proposer's wait, the aggregation and the
// transfer of the block. Metrics, if enabled, are served on the loopback interface.
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
	c.RPC.MaxBodyBytes = 9 << 20 // enough for max_tx_bytes in base64 in a JSON request
	c.Mempool.MaxTxBytes = 6 << 20
	c.Mempool.Size = 10_000
	c.Instrumentation.PrometheusListenAddr = "127.0.0.1:26660" // CometBFT's default is all interfaces
	c.LogLevel = "app:info,worker:info,*:error"
	return c
}

// UseLoopback changes a configuration for a net on one machine, where loopback addresses are not
// routable and many peers share one address.
func UseLoopback(c *config.Config) {
	c.P2P.PexReactor = false
	c.P2P.AddrBookStrict = false
	c.P2P.AllowDuplicateIP = true
}
