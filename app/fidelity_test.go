package app_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/internal/lists"
)

// verdicts are those on the elements of the paper. A row whose verdict has no pattern needs no reason.
var verdicts = []struct{ name, means, reason string }{
	{"faithful", "as the paper has it", ""},
	{"made", "a claim of the evaluation that was put to the test: agreed, agreed in part or refuted",
		"^(agreed|agreed in part: .*|agreed in part|agreed, .*|refuted: .*)$"},
	{"stronger", "as the paper has it, and more", ""},
	{"deviates", "otherwise, for the reason given", "."},
	{"in part", "some of it is there; the row says what is not", "."},
	{"missing", "not there yet; the row says why", "."},
}

// TestElementsOfThePaper checks the elements in docs/REPRODUCTION.md and the files that it names: rows are numbered,
// each has a verdict, each deviation has a reason, and the files exist. It counts the verdicts there.
func TestElementsOfThePaper(t *testing.T) {
	page, err := os.ReadFile("../docs/REPRODUCTION.md")
	require.NoError(t, err)
	_, elements, found := strings.Cut(string(page), "\n## 18. ")
	require.True(t, found)
	path := regexp.MustCompile("`([a-z0-9_]+/[^`]+|go.mod)`")
	count, rows := map[string]int{}, 0
	for _, line := range strings.Split(elements, "\n") {
		cells := strings.Split(line, "|")
		if len(cells) != 7 || strings.Contains(line, "---") || strings.HasPrefix(line, "| # |") {
			continue
		}
		for i := range cells {
			cells[i] = strings.TrimSpace(cells[i])
		}
		rows++
		require.Equal(t, fmt.Sprint(rows), cells[1], line)
		for _, v := range verdicts {
			if v.name == cells[4] {
				count[v.name]++
				require.Regexp(t, v.reason, cells[5], line)
			}
		}
		for _, found := range path.FindAllStringSubmatch(cells[3], -1) {
			_, err := os.Stat(filepath.Join("..", found[1]))
			require.NoError(t, err, line)
		}
	}
	table, judged := "| verdict | elements | means |\n|---|---|---|\n", 0
	for _, v := range verdicts {
		table += fmt.Sprintf("| %s | %d | %s |\n", v.name, count[v.name], v.means)
		judged += count[v.name]
	}
	require.NotZero(t, rows)
	require.Equal(t, rows, judged, "a row has a verdict that the table lacks")
	lists.Hold(t, "REPRODUCTION.md", table)
}
