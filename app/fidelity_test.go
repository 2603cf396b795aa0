package app_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestFidelityIsUpToDate checks the numbers of docs/FIDELITY.md and the files that it names: rows
// are numbered, each has a verdict that the page defines, each deviation has a reason, and the
// files exist.
func TestFidelityIsUpToDate(t *testing.T) {
	page, err := os.ReadFile("../docs/FIDELITY.md")
	require.NoError(t, err)
	path := regexp.MustCompile("`([a-z0-9_]+/[^`]+|go.mod)`")
	count, rows := map[string]int{}, 0
	for _, line := range strings.Split(string(page), "\n") {
		cells := strings.Split(line, "|")
		if len(cells) != 7 || strings.Contains(line, "---") || strings.HasPrefix(line, "| # |") {
			continue
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		rows++
		require.Equal(t, fmt.Sprint(rows), cells[1], line)
		count[cells[4]]++
		switch cells[4] {
		case "faithful", "stronger":
		case "made":
			require.Regexp(t, "^(agreed|agreed in part: .*|agreed in part|agreed, .*|refuted: .*)$", cells[5], line)
		case "deviates", "in part", "missing":
			require.NotEmpty(t, cells[5], "no reason: %s", line)
		default:
			t.Errorf("verdict %q: %s", cells[4], line)
		}
		for _, found := range path.FindAllStringSubmatch(cells[3], -1) {
			_, err := os.Stat(filepath.Join("..", found[1]))
			require.NoError(t, err, line)
		}
	}
	require.Contains(t, string(page), fmt.Sprintf("Of the %d elements %d are faithful, %d are claims that were put to "+
		"the test, %d are stronger, %d deviate, %d are there in part, %d are missing.",
		rows, count["faithful"], count["made"], count["stronger"], count["deviates"], count["in part"], count["missing"]))
}
