package node

import (
	"context"
	"time"

	"github.com/cometbft/cometbft/config"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/abci/metrics"
	"github.com/spdl/spdl/abci/version"
	"github.com/spdl/spdl/app"
)

// logCaughtUp logs that the node, which takes part in consensus, has the blocks of its peers. CometBFT also enters
// consensus right after state sync, at the snapshot's height, and fetches the blocks since then there. So logCaughtUp
// waits while behind returns more than the block being decided. began is the node's start.
func (r *Running) logCaughtUp(ctx context.Context, began time.Time, behind func() int64) {
	for ; behind() > 1; time.Sleep(100 * time.Millisecond) {
		if ctx.Err() != nil {
			return
		}
	}
	if s := r.Application.State(); s != nil {
		r.log.Info("the node has caught up", "height", s.Height, "epoch", s.Progress.Epoch, "round", s.Progress.Round,
			"peers", r.Node.Switch().Peers().Size(), "seconds", time.Since(began).Seconds())
		r.votes.current.Store(true)
		r.votes.compare(s)
	}
}

// announce logs the start of the node: its id, its chain, its addresses and its height.
func (r *Running) announce(c *config.Config) {
	chain, height := "", uint64(0)
	if s := r.Application.State(); s != nil {
		chain, height = s.ChainID, s.Height
	}
	r.log.Info("the node starts", "version", version.Version, "chain", chain, "node", r.Node.NodeInfo().ID(),
		"p2p", c.P2P.ListenAddress, "rpc", c.RPC.ListenAddress, "home", c.RootDir, "height", height)
}

// registerGauges registers the gauges about this node that are computed at each scrape. isAwaited reports whether the
// running epoch of a state awaits the home's consent.
func (r *Running) registerGauges(c *config.Config, a home.AppConfig, m *metrics.Metrics,
	isAwaited func(*app.State) bool) {
	if m == nil {
		return
	}
	m.Gauge("blocks_behind", func() float64 { return float64(r.blocksBehind()) })
	rejected := r.network.Rejected()
	m.PeersRejected(rejected.Strangers.Load, rejected.Handshakes.Load)
	m.Gauge("disk_free_bytes", func() float64 {
		free, err := home.FreeBytes(c.DBDir())
		if err != nil {
			return 0
		}
		return float64(free)
	})
	if !a.Worker.Enabled {
		return
	}
	m.Truth("worker_stopped", r.workerStopped.Load)
	if a.Worker.Consent == home.ConsentAsk {
		m.Truth("consent_awaited", func() bool {
			s := r.Application.State()
			return s != nil && isAwaited(s)
		})
	}
}
