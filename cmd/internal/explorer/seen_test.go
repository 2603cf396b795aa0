package explorer

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/abci/query"
)

// failing is a node that saw the aggregate of participant 3, which is passed over in every round.
type failing struct{ *fake }

func (f failing) Query(ctx context.Context, path string, answer any) error {
	if strings.HasPrefix(path, "/attempts/") {
		*answer.(*[]query.Attempt) = []query.Attempt{{Leader: 3, Digest: strings.Repeat("5c", 32),
			Recomputed: strings.Repeat("9e", 32)}}
		return nil
	}
	return f.fake.Query(ctx, path, answer)
}

// TestPagesSayWhyALeaderFailed: on the round, on the participant and under /v1.
func TestPagesSayWhyALeaderFailed(t *testing.T) {
	f := newFake(6, "x")
	s := New(failing{f}, f, Options{APIConfig: home.APIConfig{Rate: 1e6, Burst: 1e6}})
	require.NoError(t, s.chain.Look(t.Context()))
	for _, path := range []string{"/round/0/4", "/participant/3", "/v1/rounds/0/4"} {
		require.Contains(t, strings.ReplaceAll(get(s, path).Body.String(), "&#39;", "'"),
			"the digest of its aggregate, 5c5c5c5c, is not the rule's, 9e9e9e9e", path)
	}
}
