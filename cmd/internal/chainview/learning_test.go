package chainview

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/model/evaluate"
)

// TestLearning: a model that is hardly better than guessing, or that has become worse, is said to be so.
func TestLearning(t *testing.T) {
	points := func(accuracies ...float64) (all []Point) {
		for i, a := range accuracies {
			p := Point{Round: uint64(i)}
			if a >= 0 {
				p.Accuracy = &a
			}
			all = append(all, p)
		}
		return all
	}
	for _, c := range []struct {
		points  []Point
		classes uint32
		done    bool
		says    string
		poor    bool
	}{
		{points(), 10, false, "", false},
		{points(-1), 10, false, "", false},
		{points(0.12, 0.22), 10, false, "Learning has hardly begun: 22.0 % of the test rows are right after round 1, and " +
			"guessing gives 10.0 %.", true},
		{points(0.22), 10, true, "The model has hardly learned", true},
		{points(0.52), 2, false, "guessing gives 50.0 %", true},
		{points(0.22), 0, false, "22.0 % of the test rows are right after round 0.", false}, // of unknown classes
		{points(0.22, 0.22), 0, false, "The model is as good as at first", false},
		{points(0.3, 0.93, -1), 10, false, "The model learns: 93.0 % of the test rows are right after round 1, 30.0 % " +
			"after round 0.", false},
		{points(0.3, 0.93, 0.8), 10, false, "has become worse: 80.0 % of the test rows are right after round 2, 93.0 % " +
			"after round 1.", true},
	} {
		text, poor := Learning(c.done, c.classes, c.points)
		require.Contains(t, text, c.says)
		require.Equal(t, c.says == "", text == "")
		require.Equal(t, c.poor, poor, text)
	}
	ranked := points(0.905, 0.905)
	for i, auc := range []float64{0.62, 0.8} {
		ranked[i].Beside = &evaluate.Measures{Majority: 0.905, Quality: &evaluate.Quality{AUC: auc}}
	}
	text, poor := Learning(true, 2, ranked)
	require.Equal(t, "The model learns: AUC 0.800 after round 1, 0.620 after round 0.", text)
	require.False(t, poor)
	for i, auc := range []float64{0.889, 0.794} {
		ranked[i].Beside.Quality = &evaluate.Quality{AUC: auc, Rate: 0.5}
	}
	for rows, says := range map[int]string{ // Hanley and McNeil: standard errors of 0.116 and 0.0398
		16:  "AUC 0.794 after round 1, 0.889 after round 0: too close for 16 test rows to say which is better.",
		128: "The model has become worse: AUC 0.794 after round 1, 0.889 after round 0.",
	} {
		ranked[1].Examples = rows
		text, poor := Learning(true, 2, ranked)
		require.Equal(t, says, text)
		require.Equal(t, rows == 128, poor)
	}
	ranked[1].Examples = 128
	require.InDelta(t, 2*0.039788, doubt(ranked[1]), 1e-5)
	few := points(0.93, 0.8)
	few[1].Examples = 30 // a standard error of 0.073
	text, poor = Learning(true, 10, few)
	require.Equal(t, "80.0 % of the test rows are right after round 1, 93.0 % after round 0: too close for 30 test rows "+
		"to say which is better.", text)
	require.False(t, poor)
	few[1].Examples = 300
	text, _ = Learning(true, 10, few)
	require.Contains(t, text, "has become worse")
	ranked[0].Beside.Quality = &evaluate.Quality{AUC: 0.8, Brier: 0.24}
	ranked[1].Beside.Quality = &evaluate.Quality{AUC: 0.8}
	text, _ = Learning(true, 2, ranked)
	require.Equal(t, "The model ranks rows as at first: AUC 0.800 after round 1. Its Brier score is 0.000, 0.240 after "+
		"round 0.", text)
	ranked[0].Beside.Quality = &evaluate.Quality{AUC: 0.62}
	text, poor = Learning(true, 2, ranked[:1])
	require.Equal(t, "The model has hardly learned: AUC 0.620 after round 0, and guessing gives 0.500.", text)
	require.True(t, poor, "whatever its accuracy")
	never := points(0.905)
	never[0].Beside = &evaluate.Measures{Majority: 0.905}
	text, _ = Learning(false, 3, never)
	require.Contains(t, text, "guessing gives 90.5 %")
}
