package reactor

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/cometbft/cometbft/config"
	"github.com/cometbft/cometbft/libs/log"
	"github.com/cometbft/cometbft/p2p"
	gogotypes "github.com/cosmos/gogoproto/types"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/metrics"
	"github.com/spdl/spdl/abci/query"
)

// offset returns the metric's value.
func offset(t *testing.T, r *prometheus.Registry) float64 {
	t.Helper()
	families, err := r.Gather()
	require.NoError(t, err)
	for _, f := range families {
		if f.GetName() == "spdl_clock_offset_seconds" {
			return f.GetMetric()[0].GetGauge().GetValue()
		}
	}
	t.Fatal("no metric")
	return 0
}

// TestClockIsComparedWithPeers: the median of the peers' clocks is a metric, and the node warns
// once a minute while the median is out of bounds. One lying peer does not change the median.
func TestClockIsComparedWithPeers(t *testing.T) {
	var out bytes.Buffer
	registry, now := prometheus.NewRegistry(), time.Unix(1_700_000_000, 0)
	c := NewClockReactor(metrics.New(registry, "c"), nil)
	c.now = func() time.Time { return now }
	c.SetLogger(log.NewTMLogger(&out))
	c.onTime("a", now.Add(2*time.Second))
	require.Zero(t, offset(t, registry), "one clock is none to go by")
	c.onTime("liar", now.Add(-1000*time.Hour))
	require.Zero(t, offset(t, registry))
	c.onTime("b", now.Add(3*time.Second))
	require.Equal(t, -2.0, offset(t, registry))
	require.Empty(t, out.String())
	require.Equal(t, []query.PeerClock{{NodeID: "a", AheadMs: 2000}, {NodeID: "b", AheadMs: 3000},
		{NodeID: "liar", AheadMs: -3.6e9}}, c.Offsets())

	for _, peer := range []p2p.ID{"a", "b", "a"} { // this clock is set back
		c.onTime(peer, now.Add(90*time.Second))
	}
	require.Equal(t, -90.0, offset(t, registry))
	require.Equal(t, 1, strings.Count(out.String(), "this host's clock is 1m30s behind its peers'"), out.String())
	now = now.Add(time.Minute)
	c.onTime("b", now.Add(90*time.Second))
	require.Equal(t, 2, strings.Count(out.String(), "1m30s behind its peers'"))
	now = now.Add(time.Minute)
	for _, peer := range []p2p.ID{"a", "b"} {
		c.onTime(peer, now.Add(-time.Minute))
	}
	require.Contains(t, out.String(), "this host's clock is 1m0s ahead of its peers'")
	require.Equal(t, 60.0, offset(t, registry))
}

// TestClocksTravel: nodes tell each other their time when they connect.
func TestClocksTravel(t *testing.T) {
	var clocks []*ClockReactor
	switches := p2p.MakeConnectedSwitches(config.DefaultP2PConfig(), 2, func(i int, s *p2p.Switch) *p2p.Switch {
		c := NewClockReactor(nil, nil)
		c.now = func() time.Time { return time.Now().Add(time.Duration(i) * time.Hour) }
		clocks = append(clocks, c)
		s.AddReactor("CLOCK", c)
		return s
	}, p2p.Connect2Switches)
	for i, c := range clocks {
		require.Eventually(t, func() bool {
			c.mu.Lock()
			defer c.mu.Unlock()
			return len(c.offsets) == 1
		}, time.Minute, time.Millisecond)
		for _, ahead := range c.offsets {
			require.InDelta(t, float64(1-2*i)*3600, ahead.Seconds(), 60)
		}
	}
	clocks[0].Receive(p2p.Envelope{Src: switches[0].Peers().Copy()[0], ChannelID: clockChannel,
		Message: &gogotypes.Timestamp{Seconds: 1 << 62}})
	require.Eventually(t, func() bool { return switches[0].Peers().Size() == 0 }, time.Minute, time.Millisecond,
		"a time that cannot be ends the peer")
	for _, s := range switches {
		require.NoError(t, s.Stop())
	}
}
