package pages

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/model"
	"github.com/spdl/spdl/app/params"
)

// TestExam: each class is counted by itself, with what it is taken for most often. A model that a trainer
// measured has no classes, nor has one of more classes than a page shows.
func TestExam(t *testing.T) {
	m := params.Model{Kind: params.ModelSoftmax, Inputs: 4, Classes: 3}
	e := model.Eval{Accuracy: 0.5, Correct: 6, Examples: 12, Guesses: []int{3, 1, 0, 2, 1, 3, 0, 0, 2}}
	got := examOf(e, 7, m)
	require.Equal(t, e.Guesses, slices.Concat(got.Classes[0].Row, got.Classes[1].Row, got.Classes[2].Row))
	require.Equal(t, []string{"class 0", "class 1", "class 2"}, []string{got.Classes[0].Name, got.Classes[1].Name,
		got.Classes[2].Name})
	require.Equal(t, 6, got.Classes[1].Examples)
	require.Equal(t, "class 2", got.Classes[1].Taken)
	require.Equal(t, 3, got.Classes[1].Times)
	require.InDelta(t, 100.0/6, got.Classes[1].Share(), 1e-9)
	require.Empty(t, got.Classes[2].Taken)
	require.Empty(t, examOf(model.Eval{Examples: 5}, 7, m).Classes)
	m.Classes = shownClasses + 1
	require.Empty(t, examOf(model.Eval{Guesses: make([]int, (shownClasses+1)*(shownClasses+1))}, 7, m).Classes)
}

// TestClassNames: ten classes of square pictures need not be digits.
func TestClassNames(t *testing.T) {
	require.Equal(t, "class 7", className(params.Model{Inputs: 196, Classes: 10}, 7))
	require.Equal(t, "dead", className(params.Model{Table: &params.Table{Classes: []string{"alive", "dead"}}}, 1))
}
