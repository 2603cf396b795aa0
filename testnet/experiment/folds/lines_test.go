package folds

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/model/adapt"
)

// TestSays: a sentence claims no more than the intervals of its lines.
func TestSays(t *testing.T) {
	line := func(epsilon float64, verdict string, gain, ceiling adapt.Interval) Line {
		return Line{Site: "west", Epsilon: epsilon, Rows: 90, Events: 30, Alone: Score{Brier: 0.2210, AUC: 0.7},
			Pooled: Score{Brier: 0.2210 + ceiling.Value}, Adapted: Score{Brier: 0.2210 + gain.Value},
			ByRate: Score{Brier: 0.2400}, Gain: gain, Ceiling: ceiling, Better: 9, Repeats: 10, Verdict: verdict}
	}
	wide, narrow := adapt.Interval{Value: -0.01, Low: -0.03, High: 0.01}, adapt.Interval{Value: -0.0006, Low: -0.002,
		High: 0.001}
	much := adapt.Interval{Value: -0.02, Low: -0.03, High: -0.01}
	seldom, leak := line(2, Same, wide, much), line(2, Same, narrow, narrow)
	seldom.Better, leak.Alone.AUC = 5, 0.998
	few, all := line(2, Gains, much, much), line(2, Gains, much, much)
	few.Events, all.Events = 9, 81
	for _, c := range []struct {
		want  string
		lines []Line
	}{
		{"nothing to gain at epsilon 1, 2: even all rows in one place give 0.2204, its own model 0.2210",
			[]Line{line(2, Same, narrow, narrow), line(1, Same, narrow, narrow)}},
		{"no gain shown at epsilon 1, 2: even all rows in one place give 0.2204, its own model 0.2210, a difference of " +
			"-0.0006 (-0.0020 to 0.0010)", []Line{line(2, Same, narrow, narrow), line(1, Same, wide, narrow)}},
		{"no gain shown at epsilon 2: even all rows in one place give 0.2204, its own model 0.2210, a difference of " +
			"-0.0006 (-0.0300 to 0.0300)", []Line{line(2, Same, wide, adapt.Interval{Value: -0.0006, Low: -0.03, High: 0.03})}},
		{"no gain shown at epsilon 2: its interval excludes a gain of a hundredth of its own model's score; all rows in " +
			"one place give 0.2010, its own model 0.2210", []Line{line(2, Same, narrow, much)}},
		{"no gain shown at epsilon 2: its interval excludes a gain of a hundredth of its own model's score",
			[]Line{line(2, Same, narrow, wide)}},
		{"no gain shown at epsilon 1, 2: better in 9 of 10 draws at epsilon 2, and 90 rows cannot show it",
			[]Line{line(1, Same, wide, much), line(2, Same, wide, much)}},
		{"no gain shown at epsilon 2: better in 5 of 10 draws at epsilon 2, and the interval includes 0", []Line{seldom}},
		{"no gain shown at epsilon 2: better than its own model by too little, or not shown better than the rate: 0.2010, " +
			"alone 0.2210, by the rate 0.2400", []Line{line(2, Same, much, much)}},
		{"gains at epsilon 2", []Line{line(2, Gains, much, much)}},
		{"gains at epsilon 2; its rarer class has 9 rows, and of fewer than 10 no interval is to be trusted", []Line{few}},
		{"gains at epsilon 2; its rarer class has 9 rows, and of fewer than 10 no interval is to be trusted", []Line{all}},
		{"gains from epsilon 1 on, up to 2, the largest tried; loses at epsilon 0.5", []Line{line(0.5, Loses, wide, much),
			line(2, Gains, much, much), line(1, Gains, much, much)}},
		{"gains at epsilon 1", []Line{line(1, Gains, much, much), line(2, Same, wide, much)}},
		{"loses at epsilon 2", []Line{line(2, Loses, wide, much)}},
		{"not measured: few", []Line{{Site: "west", Error: "few"}}},
		{"nothing to gain at epsilon 2: even all rows in one place give 0.2204, its own model 0.2210. An AUC of 0.998 is " +
			"rare: is a column known only once the label is? spdl schema draft --without leaves it out", []Line{leak}},
	} {
		require.Equal(t, []string{"west: " + c.want}, Says(append(c.lines, Line{Site: All, Verdict: Gains})))
	}
}
