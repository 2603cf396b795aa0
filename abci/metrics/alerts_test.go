package metrics_test

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/internal/stage"
)

// alerts returns the distinct names in a file that match the pattern, sorted.
func alerts(t *testing.T, file, pattern string) (names []string) {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	for _, m := range regexp.MustCompile(pattern).FindAllStringSubmatch(string(text), -1) {
		names = append(names, m[1])
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// TestEveryAlertIsExplainedAndTested: docs/RUNBOOKS.md has a section for each alert of docs/alerts.yml and no other,
// which says when it fires, where to look, what to do and when it is over, and which the alert names. promtool's tests
// make each of them fire.
func TestEveryAlertIsExplainedAndTested(t *testing.T) {
	known := alerts(t, "../../docs/alerts.yml", `- alert: (\w+)`)
	require.NotEmpty(t, known)
	runbooks, err := os.ReadFile("../../docs/RUNBOOKS.md")
	require.NoError(t, err)
	rules, err := os.ReadFile("../../docs/alerts.yml")
	require.NoError(t, err)
	require.Equal(t, known, alerts(t, "../../docs/RUNBOOKS.md", `(?m)^## (SPDL\w+)`))
	for _, section := range strings.Split(string(runbooks), "\n## ")[1:] {
		require.Regexp(t, `^SPDL\w+\n\n(?s:\*\*Fires\.\*\* .+\*\*Look\.\*\* .+\*\*Do\.\*\* .+\*\*Over\.\*\* .+)`, section)
		name, _, _ := strings.Cut(section, "\n")
		require.Contains(t, string(rules), "runbook_url: https://github.com/spdl/spdl/blob/main/docs/RUNBOOKS.md#"+
			strings.ToLower(name)+"\n")
	}
	require.Equal(t, known, alerts(t, "testdata/alerts_test.yml", `- alertname: (\w+)\n`), "fires")
	require.Equal(t, known, alerts(t, "testdata/alerts_test.yml", `\{alertname: (\w+), .*exp_alerts: \[\]`), "is silent")
}

// TestPromtool: Prometheus' own tool accepts the alerts, and each fires exactly when it should.
func TestPromtool(t *testing.T) {
	promtool := stage.Tool(t, "promtool")
	for _, args := range [][]string{{"check", "rules", "../../docs/alerts.yml"},
		{"test", "rules", "testdata/alerts_test.yml"}} {
		out, err := exec.Command(promtool, args...).CombinedOutput()
		require.NoError(t, err, "promtool %v\n%s", args, out)
	}
}
