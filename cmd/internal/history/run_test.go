package history

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/cmd/internal/chainview"
)

// TestRunsOfOpposition: a run goes on over few rounds without opposition, ends with its epoch, and is
// one participant's.
func TestRunsOfOpposition(t *testing.T) {
	c := &Chain{State: &app.State{Participants: make([]app.Participant, 2)}}
	for round := range uint64(20) {
		r := &app.Record{Round: round, Height: 10 + round, Contributions: []app.Contribution{
			{Participant: 0, Opposed: round < 3 || round == 7 || round == 19}, {Participant: 1, Opposed: true}}}
		c.add(r)
	}
	c.add(&app.Record{Epoch: 1, Height: 40, Contributions: []app.Contribution{{Participant: 1, Opposed: true}}})
	require.Equal(t, []Run{{0, 0, 0, 7, 10, 17, 4}, {1, 0, 0, 19, 10, 29, 20}, {0, 0, 19, 19, 29, 29, 1},
		{1, 1, 0, 0, 40, 40, 1}}, c.Runs)
}

// TestAbsence: a member without a gradient is absent, and neither one that has not joined yet nor
// one that has left is.
func TestAbsence(t *testing.T) {
	c := &Chain{State: &app.State{Participants: []app.Participant{{Index: 0, Active: true}, {Index: 1, Active: true},
		{Index: 2, Active: true, Joined: 4}, {Index: 3}}}}
	for round := range uint64(6) {
		c.add(&app.Record{Round: round, Height: 10 + round, Contributions: []app.Contribution{{Participant: 0}}})
	}
	require.Equal(t, []Run{{1, 0, 0, 5, 10, 15, 6}, {2, 0, 4, 5, 14, 15, 2}}, c.Gaps)
	require.Equal(t, []chainview.Tally{{Included: 6, Led: 6}, {Absent: 6}, {Absent: 2}, {}}, c.Count)
}
