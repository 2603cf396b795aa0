package history

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/cmd/internal/chainview"
)

// TestAbsence: a member without a gradient is absent, and neither one that has not joined yet nor
// one that has left is.
func TestAbsence(t *testing.T) {
	c := &Chain{State: &app.State{Participants: []app.Participant{{Index: 0, Active: true}, {Index: 1, Active: true},
		{Index: 2, Active: true, Joined: 4}, {Index: 3}}}}
	for round := range uint64(6) {
		c.add(&app.Record{Round: round, Height: 10 + round, Contributions: []app.Contribution{{Participant: 0}}})
	}
	require.Equal(t, []chainview.Tally{{Included: 6, Led: 6}, {Absent: 6}, {Absent: 2}, {}}, c.Count)
}
