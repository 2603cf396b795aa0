package abci_test

import (
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci"
	"github.com/spdl/spdl/abci/metrics"
	"github.com/spdl/spdl/app/apptest"
)

// TestDraftsAreMadeOnce: however often a leader's draft is asked for, the rule runs once until the
// pool has changed.
func TestDraftsAreMadeOnce(t *testing.T) {
	registry := prometheus.NewRegistry()
	a, err := abci.New(abci.Options{StragglerWait: time.Nanosecond, Metrics: metrics.New(registry, apptest.ChainID)})
	require.NoError(t, err)
	n := &node{Application: a, t: t}
	n.init(4)
	made := func() uint64 { return count(t, registry, "spdl_rule_seconds") }
	for i := range 4 {
		require.Equal(t, abci.CodeOK, n.check(apptest.Gradient(n.State(), i)).Code)
	}
	first := n.State().Progress.Ranking[0]
	want, err := n.Draft(first)
	require.NoError(t, err)
	for range 100 {
		got, err := n.Draft(first)
		require.NoError(t, err)
		require.Equal(t, want, got)
		_, err = n.Draft(1<<32 - 1)
		require.Error(t, err)
	}
	require.EqualValues(t, 1, made())
	require.Equal(t, abci.CodeOK, n.check(apptest.Join(4)).Code)
	_, err = n.Draft(first)
	require.NoError(t, err)
	require.EqualValues(t, 2, made())
}
