package explorer

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/model"
	"github.com/spdl/spdl/app/params"
)

// TestModelPage: says on how many examples the accuracy was measured, and why there is none.
func TestModelPage(t *testing.T) {
	s := over(t, newFake(6, "x"), Options{Evaluator: evaluator(func(context.Context) (model.Eval, error) {
		return model.Eval{Accuracy: 0.5, Correct: 6, Examples: 12, Guesses: []int{3, 1, 0, 2, 1, 3, 0, 0, 2}}, nil
	})})
	page := get(s, "/model").Body.String()
	require.Contains(t, page, "Accuracy is not measured: no model has been measured yet")
	for _, round := range []uint64{5, 3} {
		require.NoError(t, s.chain.Measure(t.Context(), params.RoundID{Epoch: 0, Round: round}))
	}
	require.NoError(t, s.chain.Look(t.Context()))
	page = get(s, "/model").Body.String()
	for _, text := range []string{"of 12 rows (95 % interval 25.4 to 74.6 %) of this node, after round 5",
		`<bdi>class 1</bdi></th>`, "of 12 rows"} {
		require.Contains(t, page, text)
	}
	require.Equal(t, "class,taken_for,examples,right\n0,0,3,true\n0,1,1,false\n0,2,0,false\n1,0,2,false\n1,1,1,true\n"+
		"1,2,3,false\n2,0,0,false\n2,1,0,false\n2,2,2,true\n", get(s, "/model/confusion.csv").Body.String())
}
