package history

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/cmd/internal/audit"
)

// TestIncidentsComeFirst: offences, then leaders that were passed over, before everything else; and
// each participant's line says how often it was.
func TestIncidentsComeFirst(t *testing.T) {
	c := &Chain{
		Audit: &audit.Report{
			ChainID: "c", BadLeaders: []audit.BadLeader{{Participant: 1, Round: 3}, {Participant: 1, Round: 5}},
			Offences: []app.Offence{{Participant: 0, Round: 4}},
		},
		state: &app.State{Participants: []app.Participant{{Index: 0, Active: true, Moniker: "zero"},
			{Index: 1, Active: true, Moniker: "one"}}},
		rounds: []round{{at: 1, reputations: []float64{1, 1}}, {at: 2, reputations: []float64{1, 1}}},
	}
	raw, err := c.Page("command", "version")
	require.NoError(t, err)
	page := string(raw)
	equivocated, passed, training := strings.Index(page, "equivocated"), strings.Index(page, "did not lead"),
		strings.Index(page, "Training and participants")
	require.Positive(t, equivocated)
	require.Less(t, equivocated, passed)
	require.Less(t, passed, training)
	require.Equal(t, []string{"1", "one", "yes", "0.000", "0", "0", "0", "0", "2", "-", "-"}, c.participants().Rows[1])
}
