package app_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/tx"
)

// TestForeseenRuleIsFound: after Foresee a leader finds what the rule made of the gradients, which
// is what it makes without. Payloads that are overwritten after it show that it does not run again.
// Of too few gradients nothing is made.
func TestForeseenRuleIsFound(t *testing.T) {
	s, plain := apptest.State(4), apptest.State(4)
	pending := apptest.Gradients(s, 0, 1, 2, 3)
	require.ErrorIs(t, s.Foresee(pending[:2]), app.ErrNotClosing)
	require.NoError(t, s.Foresee(pending))
	overwrite(pending)
	first := s.Progress.Ranking[0]
	got, err := s.Lead(s.Height+1, first, pending)
	require.NoError(t, err)
	want, err := plain.Lead(plain.Height+1, first, apptest.Gradients(plain, 0, 1, 2, 3))
	require.NoError(t, err)
	require.Equal(t, want, got)
	again, err := apptest.State(4).Lead(s.Height+1, first, pending)
	require.NoError(t, err)
	require.NotEqual(t, want, again)
}

func overwrite(pending []*tx.Tx) {
	for i, t := range pending {
		for k := range t.Gradient.Payload {
			t.Gradient.Payload[k] = byte(i + 7*k%5)
		}
	}
}
