package watch

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/query"
)

// TestForgedRefusalsDoNotHideASignedOne: what anybody sent in a participant's name in a later round
// does not stand in place of what it signed.
func TestForgedRefusalsDoNotHideASignedOne(t *testing.T) {
	var out strings.Builder
	refusalsText(&out, []query.Rejection{
		{Round: 3, Participant: 1, Reason: "norm", Log: "norm 9", Count: 2, Signed: true},
		{Round: 4, Participant: 1, Reason: "norm", Log: "norm 1000", Count: 5},
		{Round: 4, Participant: 2, Reason: "norm", Log: "norm 7", Count: 1},
	})
	lines := strings.Split(out.String(), "\n")
	require.Equal(t, []string{"1", "norm", "2", "7", "1", "0/3", "norm", "9"}, strings.Fields(lines[1]))
	require.Equal(t, []string{"2", "norm", "1", "1", "0", "0/4", "norm", "7"}, strings.Fields(lines[2]))
}
