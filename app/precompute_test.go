package app_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/tx"
)

// TestForeseenRuleIsFound: after Precompute a leader's draft uses the cached result of the rule,
// which is the same as a new one. The test then overwrites the gradients, which shows that the rule
// does not run again. Too few gradients are not precomputed.
func TestForeseenRuleIsFound(t *testing.T) {
	s, plain := apptest.State(4), apptest.State(4)
	pending := apptest.Gradients(s, 0, 1, 2, 3)
	require.ErrorIs(t, s.Precompute(pending[:2]), app.ErrNotClosing)
	require.NoError(t, s.Precompute(pending))
	overwrite(t, s, pending)
	first := s.Progress.Ranking[0]
	got, err := s.DraftAggregate(s.Height+1, first, pending)
	require.NoError(t, err)
	want, err := plain.DraftAggregate(plain.Height+1, first, apptest.Gradients(plain, 0, 1, 2, 3))
	require.NoError(t, err)
	require.Equal(t, want, got)
	again, err := apptest.State(4).DraftAggregate(s.Height+1, first, pending)
	require.NoError(t, err)
	require.NotEqual(t, want, again)
}

// overwrite changes the coordinates of gradients, also those that were decoded before.
func overwrite(t *testing.T, s *app.State, pending []*tx.Tx) {
	t.Helper()
	for i, p := range pending {
		v, err := p.Vector(s.Grid().Width, len(s.Model))
		require.NoError(t, err)
		for k := range v.Len() {
			v.Set(k, int64(i+7*k%5))
		}
	}
}
