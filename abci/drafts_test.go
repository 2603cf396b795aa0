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

// counting begins a chain of four, and returns a function that counts the runs of its rule.
func counting(t *testing.T) (n *node, made func() uint64) {
	t.Helper()
	registry := prometheus.NewRegistry()
	a, err := abci.New(abci.Options{StragglerWait: time.Nanosecond, Metrics: metrics.New(registry, apptest.ChainID)})
	require.NoError(t, err)
	n = &node{Application: a, t: t}
	n.init(4)
	return n, func() uint64 { return count(t, registry, "spdl_rule_seconds") }
}

// TestDraftsAreMadeOnce: for any number of queries for a leader's draft, the rule runs once until
// the pool changes.
func TestDraftsAreMadeOnce(t *testing.T) {
	n, made := counting(t)
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
	require.EqualValues(t, 1, made(), "the same gradients")
}

// TestRuleRunsOnceForAllLeaders: in a late view, in which every participant may lead, the rule runs
// once for a set of gradients, and again for another set or another block.
func TestRuleRunsOnceForAllLeaders(t *testing.T) {
	n, ran := counting(t)
	height := int64(0)
	block := func() {
		height++
		n.finalize(height, nil)
		n.commit()
	}
	for range 40 {
		block()
	}
	drafts := func() (made uint64) {
		before, deltas := ran(), map[string]bool{}
		for i := range uint32(4) {
			d, err := n.Draft(i)
			require.NoError(t, err)
			require.Equal(t, i, d.Leader)
			deltas[string(d.Delta)+string(d.Digest)] = true
		}
		require.Len(t, deltas, 1)
		return ran() - before
	}
	for i := range 3 {
		require.Equal(t, abci.CodeOK, n.check(apptest.Gradient(n.State(), i)).Code)
	}
	require.EqualValues(t, 1, drafts())
	require.Equal(t, abci.CodeOK, n.check(apptest.Gradient(n.State(), 3)).Code)
	require.EqualValues(t, 1, drafts())
	require.Equal(t, abci.CodeOK, n.check(apptest.Join(4)).Code)
	require.Zero(t, drafts())
	block()
	require.EqualValues(t, 1, drafts())
}
