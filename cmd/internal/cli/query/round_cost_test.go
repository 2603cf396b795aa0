package query

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
)

// TestRoundSaysItsCost: as text and as JSON; a record alone, as a proof has it, says nothing of it.
func TestRoundSaysItsCost(t *testing.T) {
	epsilon := 1.7452
	p := pricedRound{Record: app.Record{Epoch: 1, Round: 3}, Epsilon: &epsilon, budget: 4}
	require.Equal(t, "1.746 of 4", p.cost())
	var out strings.Builder
	require.NoError(t, RoundText(&out, p.Record, p.cost()))
	require.Contains(t, out.String(), "\nepsilon  1.746 of 4\n")
	out.Reset()
	require.NoError(t, RoundText(&out, p.Record, ""))
	require.NotContains(t, out.String(), "epsilon")
	p.budget = 0
	require.Equal(t, "1.746", p.cost())
	raw, err := json.Marshal(p)
	require.NoError(t, err)
	require.Contains(t, string(raw), `"epsilon":1.7452`)
	require.Contains(t, string(raw), `"round":3`, "the record's fields are beside it")
	require.Contains(t, pricedRound{}.cost(), "unknown")
}
