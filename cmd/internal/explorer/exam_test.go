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
		`<th scope="row">class 1</th>`, "class 2 (3)"} {
		require.Contains(t, page, text)
	}
	require.Equal(t, "class,taken_for,examples,right\nclass 0,class 0,3,true\nclass 0,class 1,1,false\n"+
		"class 0,class 2,0,false\nclass 1,class 0,2,false\nclass 1,class 1,1,true\nclass 1,class 2,3,false\n"+
		"class 2,class 0,0,false\nclass 2,class 1,0,false\nclass 2,class 2,2,true\n",
		get(s, "/model/confusion.csv").Body.String())
}
