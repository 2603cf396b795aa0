package watch

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
)

// TestRoundSaysItsCost: as text and as JSON; a record alone, as a proof has it, says nothing of it.
func TestRoundSaysItsCost(t *testing.T) {
	epsilon := 1.7452
	p := pricedRound{Record: app.Record{Epoch: 1, Round: 3}, Epsilon: &epsilon, budget: 4}
	require.Equal(t, "1.746 of 4", p.cost())
	var out strings.Builder
	RoundText(&out, p.Record, []app.Participant{{Index: 5, Active: true}}, p.cost())
	require.Contains(t, out.String(), "\nepsilon  1.746 of 4\n")
	require.Regexp(t, `5 +absent .*No gradient of it is in block`, out.String())
	out.Reset()
	RoundText(&out, p.Record, []app.Participant{{Index: 5, Active: true}}, p.cost(), query.Rejection{Participant: 5,
		Reason: "norm", Norm: 0, MinNorm: 292, MaxNorm: 20679, Signed: true, Count: 1})
	require.Regexp(t, `5 +refused .*This node rejected its gradient \(norm\)`, out.String())
	out.Reset()
	withheld := p.Record
	withheld.Withheld = []uint32{5}
	RoundText(&out, withheld, []app.Participant{{Index: 5, Active: true}}, "")
	require.Contains(t, out.String(), "It had committed to one, which the ledger counts, and no valid one followed.")
	out.Reset()
	RoundText(&out, p.Record, nil, "")
	require.NotContains(t, out.String(), "epsilon")
	p.budget = 0
	require.Equal(t, "1.746", p.cost())
	raw, err := json.Marshal(p)
	require.NoError(t, err)
	require.Contains(t, string(raw), `"epsilon":1.7452`)
	require.Contains(t, string(raw), `"round":3`, "the record's fields are beside it")
	require.Contains(t, pricedRound{}.cost(), "unknown")
}

// TestRoundSaysWeights: JSON has the weight of each gradient beside the record's fields, as the text
// does, and null where the rule gives none.
func TestRoundSaysWeights(t *testing.T) {
	r := app.Record{Rule: "agnostic-mean", Contributions: []app.Contribution{{Participant: 3, Selected: true,
		Score: 1 << 18}, {Participant: 4, Score: 1}}}
	raw, err := json.Marshal(weigh(r))
	require.NoError(t, err)
	var got struct {
		Contributions []struct {
			Participant uint32
			Score       int64
			Weight      *float64
		}
	}
	require.NoError(t, json.Unmarshal(raw, &got))
	require.Len(t, got.Contributions, 2)
	require.EqualValues(t, 1<<18, got.Contributions[0].Score)
	require.Equal(t, 0.5, *got.Contributions[0].Weight, "of an equal share, 1<<19")
	require.Zero(t, *got.Contributions[1].Weight, "left out")
	r.Rule = "median"
	raw, err = json.Marshal(weigh(r))
	require.NoError(t, err)
	require.Contains(t, string(raw), `"weight":null`)
}
