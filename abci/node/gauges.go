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
	m.BlocksBehind(r.blocksBehind)
	rejected := r.network.Rejected()
	m.PeersRejected(rejected.Strangers.Load, rejected.Handshakes.Load)
	m.DiskFree(func() uint64 {
		free, err := home.FreeBytes(c.DBDir())
		if err != nil {
			return 0
		}
		return free
	})
	if !a.Worker.Enabled {
		return
	}
	m.Truth(metrics.WorkerStopped, r.workerStopped.Load)
	if a.Worker.Consent == home.ConsentAsk {
		m.Truth(metrics.ConsentAwaited, func() bool {
			s := r.Application.State()
			return s != nil && isAwaited(s)
		})
	}
}
