package metrics_test

import (
	"os"
	"os/exec"
	"regexp"
	"slices"
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

// TestEveryAlertIsExplainedAndTested: the manual explains each alert of docs/alerts.yml and no
// other, and promtool's tests make each of them fire.
func TestEveryAlertIsExplainedAndTested(t *testing.T) {
	known := alerts(t, "../../docs/alerts.yml", `- alert: (\w+)`)
	require.NotEmpty(t, known)
	require.Equal(t, known, alerts(t, "../../docs/TROUBLESHOOTING.md", "(?m)^\\| `(SPDL\\w+)` \\|"))
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
