package internal_test

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/internal/lists"
)

// TestPathsOfV1: API.md lists the paths of openapi.json.
func TestPathsOfV1(t *testing.T) {
	text, err := os.ReadFile("explorer/pages/assets/openapi.json")
	require.NoError(t, err)
	var api struct{ Paths json.RawMessage }
	require.NoError(t, json.Unmarshal(text, &api))
	table, in := "| path | asks with | answer |\n|---|---|---|\n", json.NewDecoder(strings.NewReader(string(api.Paths)))
	_, err = in.Token() // the opening brace: a map would lose the order
	require.NoError(t, err)
	for in.More() {
		path, err := in.Token()
		require.NoError(t, err)
		var of struct {
			Get struct {
				Summary    string
				Parameters []struct{ Name, In string }
			}
		}
		require.NoError(t, in.Decode(&of))
		require.NotEmpty(t, of.Get.Summary, path)
		var asks []string
		for _, p := range of.Get.Parameters {
			if p.In == "query" {
				asks = append(asks, "`"+p.Name+"`")
			}
		}
		table += fmt.Sprintf("| `%s` | %s | %s |\n", path, strings.Join(asks, ", "), of.Get.Summary)
	}
	lists.Hold(t, "API.md", table)
}

// TestGrowthOfCosts: LAB.md has the powers to which testnet/e2e holds the costs of a net.
func TestGrowthOfCosts(t *testing.T) {
	text, err := os.ReadFile("../../testnet/e2e/testdata/growth.json")
	require.NoError(t, err)
	var powers map[string]map[string]float64
	require.NoError(t, json.Unmarshal(text, &powers))
	table := "| | in N | in d | in rounds |\n|---|---|---|---|\n"
	for _, cost := range []string{"time", "CPU", "bytes sent", "memory", "disk"} {
		table += fmt.Sprintf("| %s | %.2f | %.2f | %.2f |\n", cost, powers["N"][cost], powers["d"][cost],
			powers["rounds"][cost])
	}
	require.Len(t, powers["N"], 5, "a row for each cost")
	lists.Hold(t, "LAB.md", table)
}
