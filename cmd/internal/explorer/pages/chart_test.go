package pages

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/model/evaluate"
	"github.com/spdl/spdl/cmd/internal/chainview"
)

func accuracies(values ...float64) []chainview.Point {
	var out []chainview.Point
	for i, x := range values {
		out = append(out, chainview.Point{Round: uint64(i), Measures: chainview.Measures{Accuracy: &x, Examples: 10_000}})
	}
	return out
}

// TestAccuracyShowsLearning: the axis begins at a round share below the smallest, which the legend
// names, and at 0 if there is none.
func TestAccuracyShowsLearning(t *testing.T) {
	accuracy := func(p chainview.Point) *float64 { return p.Accuracy }
	c := chartOf("/training", "accuracy", "Test accuracy", "%", 1, accuracies(0.93, 0.98), accuracy, nil)
	require.Equal(t, []string{"90 %", "92.5 %", "95 %", "97.5 %", "100 %"}, labels(c.Ticks))
	require.Equal(t, "44.0,101.0 296.0,36.0", c.Points)
	require.Equal(t, "98 % after round 1; between 93 % and 98 % since round 0; the axis begins at 90 %", c.Legend)
	whole := chartOf("/training", "accuracy", "Test accuracy", "%", 1, accuracies(0.1, 0.98), accuracy, nil)
	require.Equal(t, []string{"0 %", "25 %", "50 %", "75 %", "100 %"}, labels(whole.Ticks))
	require.NotContains(t, whole.Legend, "axis")
	loss := chartOf("/training", "loss", "Test loss", "", 0, accuracies(0.31, 0.11),
		func(p chainview.Point) *float64 { return p.Accuracy }, nil)
	require.Equal(t, []string{"0", "0.1", "0.2", "0.3", "0.4"}, labels(loss.Ticks))
	require.Equal(t, "round,accuracy\n0,0.93\n1,0.98\n", csvOf(t, Content{Body: homePage{Charts: charts{c}}}, "accuracy"))
}

func labels(ticks []tick) (out []string) {
	for _, x := range ticks {
		out = append(out, x.Label)
	}
	return out
}

func csvOf(t *testing.T, v Content, name string) string {
	t.Helper()
	out, err := Table(v, name)
	require.NoError(t, err)
	return string(out)
}

// TestAccuracyHasItsRows: the number of rows always, and below a thousand the interval.
func TestAccuracyHasItsRows(t *testing.T) {
	one, most := 1.0, 0.975
	require.Equal(t, "100.00 % of 28 rows (95 % interval 87.9 to 100.0 %)",
		accuracyText(chainview.Point{Measures: chainview.Measures{Accuracy: &one, Examples: 28}}))
	require.Equal(t, "97.50 % of 10,000 rows", accuracyText(chainview.Point{
		Measures: chainview.Measures{Accuracy: &most, Examples: 10_000}}))
	require.Equal(t, "97.50 %", accuracyText(chainview.Point{Measures: chainview.Measures{Accuracy: &most}}))
	require.Equal(t, "-", accuracyText(chainview.Point{}))
	low, high := interval(0, 10)
	require.Zero(t, low)
	require.InDelta(t, 0.2775, high, 1e-3)
	require.Equal(t, []string{"7", "999", "1,000", "1,234,567"},
		[]string{grouped(7), grouped(999), grouped(1000), grouped(1234567)})
}

// TestSharedAxis: charts of the same rounds have the same x axis, though some rounds lack a value, and
// a line begins where its values do.
func TestSharedAxis(t *testing.T) {
	half, epsilon := 0.5, 1.0
	points := make([]chainview.Point, 60)
	for i := range points {
		points[i] = chainview.Point{Round: uint64(i), Epsilon: &epsilon}
		if i >= 30 {
			points[i].Accuracy = &half
		}
	}
	all := chartsOf(points, 2)
	accuracy, spent := all[0], all[len(all)-1]
	require.EqualValues(t, 30, all.Since())
	require.Contains(t, accuracy.Legend, "since round 30, before which it is not known")
	require.Equal(t, spent.Rounds, accuracy.Rounds)
	require.Equal(t, "0", accuracy.Rounds[0].Label)
	require.True(t, strings.HasPrefix(accuracy.Points, fmt.Sprintf("%.1f,", accuracy.across(30))))
	require.True(t, strings.HasPrefix(accuracy.Area, fmt.Sprintf("%.1f,", accuracy.across(30))))
}

// TestGuessing: a chart says what guessing gives, unless that is below its frame.
func TestGuessing(t *testing.T) {
	points := accuracies(0.91, 0.92)
	for i := range points {
		points[i].Beside = &evaluate.Measures{Majority: 0.905, Quality: &evaluate.Quality{AUC: 0.7, Brier: 0.2},
			Class: "dead", Recall: 0.25}
	}
	all := chartsOf(points, 2)
	require.Equal(t, "guessing 90.5 %", all[0].Bound.Label)
	require.Equal(t, "90 %", all[0].Ticks[0].Label)
	require.Equal(t, "guessing 0.5", all[1].Bound.Label)
	require.Equal(t, []string{"Recall of dead", "guessing 0.086"}, []string{all[2].Title, all[3].Bound.Label})
	require.Nil(t, all[2].Bound)
	require.Contains(t, all[2].Legend, "25 % after round 1")
	points[1].Beside.Majority = 0.11
	require.Nil(t, chartsOf(points, 2)[0].Bound, "the axis begins at 90 %, so that one sees the learning")
}
