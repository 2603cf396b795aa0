package abci_test

import (
	"testing"

	abcitypes "github.com/cometbft/cometbft/abci/types"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
)

// TestAnswersAreMadeOnceAState: a second query for a path that all participants' answers share gets the same bytes, and
// another state has another answer. None of these answers asks the pool or the clock, which the queries do not have.
func TestAnswersAreMadeOnceAState(t *testing.T) {
	s := apptest.State(4)
	q := query.New(query.Queries{State: func() *app.State { return s }})
	for _, path := range []string{"/participants", "/privacy", "/reputation", "/membership"} {
		ask := func() *byte {
			var r abcitypes.ResponseQuery
			require.NoError(t, q.Answer(&abcitypes.RequestQuery{Path: path}, &r), path)
			return &r.Value[0]
		}
		s = apptest.State(4)
		first := ask()
		require.Same(t, first, ask(), path)
		require.Same(t, q.MaxEpsilon(s), q.MaxEpsilon(s))
		s = apptest.State(5)
		require.NotSame(t, first, ask(), path)
	}
}
