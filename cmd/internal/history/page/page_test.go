package page

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/cmd/internal/audit"
	"github.com/spdl/spdl/cmd/internal/history"
)

// TestIncidentsComeFirst: offences, then leaders that were passed over, before everything else; and
// each participant's line says how often it was.
func TestIncidentsComeFirst(t *testing.T) {
	h := &history.Chain{
		Audit: &audit.Report{
			ChainID: "c", BadLeaders: []audit.BadLeader{{Participant: 1, Round: 3}, {Participant: 1, Round: 5}},
			Offences: []app.Offence{{Participant: 0, Round: 4}},
		},
		State: &app.State{Participants: []app.Participant{{Index: 0, Active: true, Moniker: "zero"},
			{Index: 1, Active: true, Moniker: "one"}}},
		Rounds: []history.Round{{At: 1, Reputations: []float64{1, 1}}, {At: 2, Reputations: []float64{1, 1}}},
	}
	raw, err := Of(h, "command", "version")
	require.NoError(t, err)
	page := string(raw)
	equivocated, passed, training := strings.Index(page, "equivocated"), strings.Index(page, "did not lead"),
		strings.Index(page, "Training and participants")
	require.Positive(t, equivocated)
	require.Less(t, equivocated, passed)
	require.Less(t, passed, training)
	require.Equal(t, []string{"1", "one", "yes", "0.000", "0", "0", "0", "0", "2", "-", "-"},
		chain{h}.participants().Rows[1])
}
