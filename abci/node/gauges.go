package node

import (
	"github.com/cometbft/cometbft/config"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/abci/metrics"
	"github.com/spdl/spdl/app"
)

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
