package chainview

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/params"
)

// opposedFor are the results of 60 rounds: the first 18 gradients are opposed.
func opposedFor() []Result {
	var out []Result
	reputation := int64(params.One)
	for t := range uint64(60) {
		r := Result{Point: Point{Round: t, Members: []uint32{5}}, Verdict: Verdict{Participant: 5, Fate: Selected}}
		change := int64(0)
		if t < 18 {
			r.Verdict.Opposed = true
			change = max(-params.One/10, -reputation)
		}
		reputation += change
		left := reputation
		r.Verdict.Reputation, r.Verdict.Change = &left, &change
		out = append(out, r)
	}
	return out
}

func reversed(of []Result) []Result {
	out := make([]Result, 0, len(of))
	for i := range of {
		out = append(out, of[len(of)-1-i])
	}
	return out
}

// TestSpans: consecutive rounds with one result are one row.
func TestSpans(t *testing.T) {
	spans := Spans(reversed(opposedFor()))
	require.Len(t, spans, 2)
	require.Equal(t, []int{42, 18}, []int{spans[0].Count, spans[1].Count})
	require.EqualValues(t, -params.One, spans[1].Lost)
}
