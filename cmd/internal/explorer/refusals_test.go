package explorer

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
)

// refusing is a node whose rounds lack participants 2 and 3: it did not admit what 3 signed, and
// something in the name of 2.
type refusing struct{ *fake }

func (r refusing) Query(ctx context.Context, path string, answer any) error {
	if strings.HasPrefix(path, "/refusals") {
		*answer.(*[]query.Rejection) = []query.Rejection{
			{Round: 1, Participant: 2, Reason: "signature", Log: "not its key", Count: 9},
			{Round: 1, Participant: 3, Reason: "norm", Log: "G6: too long", Norm: 7, MinNorm: 2,
				MaxNorm: 5, Count: 1, Signed: true},
		}
		return nil
	}
	err := r.fake.Query(ctx, path, answer)
	if record, ok := answer.(*app.Record); ok && err == nil {
		record.Contributions = record.Contributions[:2]
	}
	return err
}

// TestRefusedIsNotAbsent: pages and /v1 tell a participant whose gradient the node did not admit
// from one that sent none, and do not blame a member for what anybody may have sent.
func TestRefusedIsNotAbsent(t *testing.T) {
	f := newFake(3, "x")
	s := New(refusing{f}, f, Options{APIConfig: home.APIConfig{Rate: 1e6, Burst: 1e6}})
	require.NoError(t, s.chain.Look(t.Context()))
	round := get(s, "/round/0/1")
	require.Equal(t, http.StatusOK, round.Code)
	require.Contains(t, round.Body.String(), "This node rejected its gradient (norm): norm 7; noise and clipped "+
		"examples make at most 5.")
	require.Contains(t, round.Body.String(), "anybody may have sent that")
	for path, says := range map[string]string{
		"/":              `! rejected</span> 3`,
		"/v1/rounds/0/1": `"fate":"refused"`,
		"/v1/rounds":     `"refused":[3]`,
		"/participant/3": "lately, by this node",
	} {
		require.Contains(t, get(s, path).Body.String(), says, path)
	}
	require.Equal(t, 1, strings.Count(get(s, "/v1/rounds/0/1").Body.String(), `"fate":"absent"`))
	require.NotContains(t, get(s, "/participant/2").Body.String(), "lately, by this node")
}

// TestWhyRefused: the home page says of who is absent how many gradients the node refused, and why.
func TestWhyRefused(t *testing.T) {
	f := newFake(6, "x")
	s := New(refusing{f}, f, Options{APIConfig: home.APIConfig{Rate: 1e6, Burst: 1e6}})
	require.NoError(t, s.chain.Look(t.Context()))
	home := get(s, "/").Body.String()
	require.Contains(t, home, "this node rejected 1 of its gradients (norm)")
	require.Contains(t, home, "absent in 6 of 6; this node rejected 9 gradients in its name, which anybody may have "+
		"sent (signature)")
}
