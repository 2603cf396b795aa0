package top

import (
	"math"
	"strings"
)

// trendRounds is the max number of rounds in a trend.
const trendRounds = 16

// trend holds the newest values of a figure, one for each round that top has seen, oldest first.
type trend struct {
	values []float64
	last   uint64 // the round of the newest value
}

// add returns a new trend with the value of a round appended, unless it has the round already. It
// does not change t, because another goroutine may draw it.
func (t trend) add(round uint64, value *float64) trend {
	if value == nil || len(t.values) > 0 && round == t.last {
		return t
	}
	all := append(append([]float64{}, t.values...), *value)
	return trend{all[max(0, len(all)-trendRounds):], round}
}

// String draws the values as blocks between the lowest and the highest, after a space. It returns
// "" for fewer than two values.
func (t trend) String() string {
	if len(t.values) < 2 {
		return ""
	}
	blocks := []rune("▁▂▃▄▅▆▇█")
	low, high := math.Inf(1), math.Inf(-1)
	for _, x := range t.values {
		low, high = min(low, x), max(high, x)
	}
	var b strings.Builder
	b.WriteByte(' ')
	for _, x := range t.values {
		level := 0
		if high > low {
			level = int((x - low) / (high - low) * float64(len(blocks)-1))
		}
		b.WriteRune(blocks[level])
	}
	return b.String()
}
