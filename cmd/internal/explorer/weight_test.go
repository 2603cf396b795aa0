package explorer

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/params"
)

// TestReputationsBegin: the changes of the first round on a participant's page are known, at the start
// of the chain and later, and a line begins with what evidence in the same block left.
func TestReputationsBegin(t *testing.T) {
	for _, rounds := range []uint64{12, 130} {
		r := over(t, newFake(rounds, "x"), Options{}).chain.Reader(t.Context())
		_, first := r.Results(3)
		require.NoError(t, r.Err())
		require.Len(t, first, int(min(rounds, 100)))
		require.NotNil(t, first[0].Verdict.Change)
	}
	s := over(t, newFake(12, "x"), Options{})
	r := s.chain.Reader(t.Context())
	story := r.Story(params.RoundID{})
	require.NoError(t, r.Err())
	require.Zero(t, *story.Verdicts[3].Reputation, "in tables as in the chart")
	require.Negative(t, *story.Verdicts[3].Change)
	require.Contains(t, story.Verdicts[3].Why, "is that of a conviction")
	require.Contains(t, get(s, "/participant/3/reputation.csv").Body.String(), "\n0,0\n")
}
