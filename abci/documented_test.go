package abci_test

import (
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/query"
)

// TestAnswersAreDocumented: the table of fields in docs/API.md names every field of every answer
// that is not a message of the state.
func TestAnswersAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../docs/API.md")
	require.NoError(t, err)
	for path, answer := range map[string]any{
		"/status": query.Status{}, "/model": query.ModelState{}, "/leader": query.Leader{}, "/election": query.Election{},
		"/reputation": query.Standing{}, "/privacy": query.Spend{}, "/membership": query.Membership{},
		"/epochs":   query.EpochState{},
		"/refusals": query.Rejection{}, "/attempts": query.Attempt{}, "/timing": query.Timing{},
		"/upgrade": query.UpgradeState{},
		"/kept":    query.StateAfter{}, "/clocks": query.PeerClock{}, "/connections": query.Connections{},
	} {
		_, row, found := strings.Cut(string(page), "\n| `"+path+"` |")
		require.True(t, found, path)
		row, _, _ = strings.Cut(row, "\n")
		for _, field := range reflect.VisibleFields(reflect.TypeOf(answer)) {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			require.Contains(t, row, "`"+name+"`", path)
		}
	}
}
