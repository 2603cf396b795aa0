package page

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/audit"
	"github.com/spdl/spdl/cmd/internal/history"
)

// TestIncidentsComeFirst: before everything else come the verdict, the participants that look like
// attackers, offences, opposed runs, and leaders that were passed over; each participant's line says
// how often it was.
func TestIncidentsComeFirst(t *testing.T) {
	h := &history.Chain{
		Audit: &audit.Report{
			ChainID: "c", BadLeaders: []audit.BadLeader{{Participant: 1, Round: 3}, {Participant: 1, Round: 5}},
			Offences: []app.Offence{{Participant: 0, Round: 4}},
		},
		Runs:  []history.Run{{Participant: 1, First: 0, Last: 19, FromHeight: 2, LastHeight: 40, Count: 20}},
		Count: []history.Tally{{Included: 20}, {Included: 20, Opposed: 20}},
		State: &app.State{Participants: []app.Participant{{Index: 0, Active: true, Moniker: "zero"},
			{Index: 1, Active: true, Moniker: "one"}}},
		Rounds: []history.Round{{At: 1, Reputations: []float64{1, 1}},
			{Record: app.Record{Round: 19}, At: 2, Reputations: []float64{1, 1}, Accuracy: 0.9712, Tested: 10000,
				Epsilon: 1.745}},
		Params: params.Params{Privacy: params.Privacy{Epsilon: 4}},
	}
	raw, err := Of(h, "command", "version")
	require.NoError(t, err)
	page := string(raw)
	verdict := strings.Index(page, `<p class="verdict">After round 19 of epoch 0: test accuracy 97.12 % of 10000 rows, `+
		`epsilon 1.745 of 4.</p>`)
	accused := strings.Index(page, "2 participants look like attackers: zero (#0): proven offences: 1; reputation 0. "+
		"one (#1): reputation 0; opposed to Delta in 20 of 20.")
	opposed := strings.Index(page, `<th scope="row">opposed to Delta in 20 of 20 rounds</th>`+
		`<td data-l="participant">one (#1)</td><td data-l="epoch">0</td><td data-l="round">0 to 19</td>`)
	equivocated, passed, training := strings.Index(page, ">equivocated<"), strings.Index(page, ">did not lead; "),
		strings.Index(page, "<h2>Training and participants")
	require.Positive(t, equivocated)
	require.Positive(t, verdict)
	require.Less(t, verdict, accused)
	require.Less(t, accused, equivocated)
	require.Less(t, equivocated, opposed)
	require.Less(t, opposed, passed)
	require.Less(t, passed, training)
	require.Equal(t, []string{"one (#1)", "yes", "0.000", "20", "0", "20", "0", "2", "-", "-"},
		chain{h}.participants().Rows[1])
}
