package chainview_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/cmd/internal/chainview"
)

// TestWeights: a gradient's weight is known if the rule's scores tell weights, or if the rule left
// the gradient out. The text for a weight above 0 is never "0".
func TestWeights(t *testing.T) {
	const equal = int64(1 << 20 / 4)
	r := app.Record{Rule: "agnostic-mean", Contributions: make([]app.Contribution, 4)}
	for _, x := range []struct {
		c      app.Contribution
		weight string
	}{
		{app.Contribution{Selected: true}, "1.00"},
		{app.Contribution{Selected: true, Score: equal / 2}, "0.50"},
		{app.Contribution{Selected: true, Score: equal - equal/200}, "0.005"},
		{app.Contribution{Selected: true, Score: equal - 1}, "<0.001"},
		{app.Contribution{Score: equal}, "0"},
	} {
		require.Equal(t, x.weight, chainview.WeightText(query.WeightOf(&r, x.c)))
	}
	for _, rule := range []string{"multi-krum", "median", "nnm+agnostic-mean"} { // their scores tell no weights
		r.Rule = rule
		require.False(t, query.Weighs(rule))
		require.Nil(t, query.WeightOf(&r, app.Contribution{Selected: true, Score: 7}))
		require.Equal(t, "0", chainview.WeightText(query.WeightOf(&r, app.Contribution{Score: 7})))
	}
	require.Equal(t, "-", chainview.WeightText(nil))
}
