package explorer

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"

	"github.com/spdl/spdl/abci/query"
)

// TestParamsDiffer: the page marks what differs from the preset and from the epoch before.
func TestParamsDiffer(t *testing.T) {
	f := newFake(6, "default")
	s := over(t, f, Options{})
	page := get(s, "/params").Body.String()
	require.Contains(t, page, `<td class="why">`+params.Meanings["training.learning_rate"].Text)
	require.NotContains(t, page, `<td class="why">{`)
	require.Contains(t, page, "differ from the preset <bdi>default</bdi> for 4 participants")
	require.Contains(t, page, "<mark><bdi>0.5</bdi></mark> <small>gradient units</small>")
	require.NotContains(t, page, "In the epoch before")
	require.Equal(t, http.StatusOK, get(over(t, newFake(6, "none"), Options{}), "/params").Code, "no such preset")
	epoch := uint64(0)
	next := func(_ string, answer any) {
		switch x := answer.(type) {
		case *query.Status:
			x.Epoch = epoch
		case *app.Record:
			x.Epoch = epoch
		case *params.Params:
			if epoch == 0 {
				x.Training.LearningRate = 0.125
			}
		case *[]query.EpochState:
			*x = append([]query.EpochState{{Planned: 7, Rule: "krum"}}, *x...)
		}
	}
	s = overChanged(t, f, next)
	epoch = 1
	require.NoError(t, s.chain.Look(t.Context()))
	page = get(s, "/params").Body.String()
	require.Contains(t, page, "In the epoch before")
	require.Contains(t, page, "0.125</bdi>")
	page = get(overChanged(t, f, next), "/params").Body.String() // it has not seen the epoch before
	require.Contains(t, page, "<bdi>krum</bdi>")
	require.NotContains(t, page, "0.125</bdi>")
}
