package query

import (
	"testing"
	"time"

	abcitypes "github.com/cometbft/cometbft/abci/types"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
)

// TestAnswersAreMadeOnceAState: a second query for a shared path gets the same bytes, and another
// state has another answer.
func TestAnswersAreMadeOnceAState(t *testing.T) {
	s := apptest.State(4)
	q := New(Queries{State: func() *app.State { return s }, Now: time.Now})
	ask := func() *byte {
		var r abcitypes.ResponseQuery
		require.NoError(t, q.Answer(&abcitypes.RequestQuery{Path: "/participants"}, &r))
		return &r.Value[0]
	}
	first := ask()
	require.Same(t, first, ask())
	require.Same(t, q.MaxEpsilon(s), q.MaxEpsilon(s))
	s = apptest.State(5)
	require.NotSame(t, first, ask())
}

// TestSharedAnswersArePaths: each shared path has an answer, and the answer depends on neither the
// pool nor the clock.
func TestSharedAnswersArePaths(t *testing.T) {
	for path := range sharedPaths {
		require.Contains(t, paths, path)
	}
}
