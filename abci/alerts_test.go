package abci_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/internal/lists"
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

// TestEveryAlertIsExplainedAndTested: docs/TROUBLESHOOTING.md has a section for each alert of docs/alerts.yml and no
// other, which says where to look, what to do and when it is over, and which the alert names.
// promtool's tests make each of them fire.
func TestEveryAlertIsExplainedAndTested(t *testing.T) {
	known := alerts(t, "../docs/alerts.yml", `- alert: (\w+)`)
	require.NotEmpty(t, known)
	runbooks, err := os.ReadFile("../docs/TROUBLESHOOTING.md")
	require.NoError(t, err)
	rules, err := os.ReadFile("../docs/alerts.yml")
	require.NoError(t, err)
	require.Equal(t, known, alerts(t, "../docs/TROUBLESHOOTING.md", `(?m)^### (SPDL\w+)`))
	for _, section := range strings.Split(string(runbooks), "\n### SPDL")[1:] {
		section = "SPDL" + section
		require.Regexp(t,
			`^SPDL\w+\n\n(?s:- \*\*Look\.\*\* .+- \*\*Do\.\*\* .+- \*\*Over\.\*\* .+)`, section)
		name, _, _ := strings.Cut(section, "\n")
		require.Contains(t, rulesOf(string(rules))[name], "runbook_url: https://github.com/spdl/spdl/blob/main/docs/"+
			"TROUBLESHOOTING.md#"+strings.ToLower(name)+"\n")
	}
	require.Equal(t, known, alerts(t, "testdata/alerts_test.yml", `- alertname: (\w+)\n`), "fires")
	require.Equal(t, known, alerts(t, "testdata/alerts_test.yml", `\{alertname: (\w+), .*exp_alerts: \[\]`), "is silent")
}

// TestAlertsReference: docs/TROUBLESHOOTING.md lists the alerts, with the severity and the comment of docs/alerts.yml.
func TestAlertsReference(t *testing.T) {
	rules, err := os.ReadFile("../docs/alerts.yml")
	require.NoError(t, err)
	table, all := "| alert | severity | fires |\n|---|---|---|\n", rulesOf(string(rules))
	for _, name := range slices.Sorted(maps.Keys(all)) {
		m := regexp.MustCompile(`(?s)^fires: (\S[^\n]+\.)\n.*severity: (page|ticket)`).FindStringSubmatch(all[name])
		require.NotNil(t, m, "%s: a comment that is a sentence, and a severity", name)
		table += fmt.Sprintf("| [%s](#%s) | %s | %s |\n", name, strings.ToLower(name), m[2], m[1])
	}
	lists.Hold(t, "TROUBLESHOOTING.md", table)
}

// TestMetricsReference: docs/TROUBLESHOOTING.md lists the metrics, with the alerts that watch them.
func TestMetricsReference(t *testing.T) {
	rules, err := os.ReadFile("../docs/alerts.yml")
	require.NoError(t, err)
	table, all := "| metric | labels | meaning | alert |\n|---|---|---|---|\n", rulesOf(string(rules))
	for _, m := range ours() {
		var watch []string
		for _, name := range slices.Sorted(maps.Keys(all)) {
			if regexp.MustCompile(m.name + `(_bucket)?\b`).MatchString(all[name]) {
				watch = append(watch, "`"+name+"`")
			}
		}
		table += fmt.Sprintf("| `%s` | %s | %s | %s |\n", m.name, m.labels, m.help, strings.Join(watch, ", "))
	}
	lists.Hold(t, "TROUBLESHOOTING.md", table)
}

// rulesOf returns the text of each alert in the text of docs/alerts.yml, by its name.
func rulesOf(rules string) map[string]string {
	all := map[string]string{}
	for _, rule := range strings.Split(rules, "- alert: ")[1:] {
		head, text, _ := strings.Cut(rule, "\n")
		name, fires, _ := strings.Cut(head, " # ")
		all[name] = "fires: " + fires + "\n" + text + "\n"
	}
	return all
}

// bound matches the last metric before a comparison with a number that is no factor, and the number.
var bound = regexp.MustCompile(`(spdl_[a-z_]+)[\[\])0-9m]* [<>] ([0-9.]+)\s*(?:\n|and|or)`)

// TestThresholds: a panel of docs/grafana.json turns red where an alert about its metric fires, and each alert that
// fires at a value of a metric has such a panel.
func TestThresholds(t *testing.T) {
	rules, err := os.ReadFile("../docs/alerts.yml")
	require.NoError(t, err)
	bounds := map[string]float64{} // by metric
	for name, rule := range rulesOf(string(rules)) {
		if name == "SPDLFewPeers" || name == "SPDLVersionsDiffer" {
			continue // they compare with f, and a number of nodes
		}
		for _, m := range bound.FindAllStringSubmatch(rule, -1) {
			value, err := strconv.ParseFloat(m[2], 64)
			require.NoError(t, err, name)
			if value > 0 { // the others compare a growth
				bounds[m[1]] = value
			}
		}
	}
	require.NotEmpty(t, bounds)
	dashboard, err := os.ReadFile("../docs/grafana.json")
	require.NoError(t, err)
	var parsed struct {
		Panels []struct {
			Title       string
			Targets     []struct{ Expr string }
			FieldConfig struct {
				Defaults struct {
					Thresholds struct{ Steps []struct{ Value *float64 } }
				}
			}
		}
	}
	require.NoError(t, json.Unmarshal(dashboard, &parsed))
	shown := map[string]float64{}
	for _, p := range parsed.Panels {
		var want []float64
		for _, target := range p.Targets {
			for _, metric := range regexp.MustCompile(`spdl_[a-z_]+`).FindAllString(target.Expr, -1) {
				if value, ok := bounds[metric]; ok {
					want, shown[metric] = append(want, value), value
				}
			}
		}
		var got []float64
		for _, step := range p.FieldConfig.Defaults.Thresholds.Steps {
			if step.Value != nil {
				got = append(got, math.Abs(*step.Value))
			}
		}
		slices.Sort(got)
		require.Equal(t, want, slices.Compact(got), p.Title)
	}
	require.Equal(t, bounds, shown)
}

// TestPromtool: Prometheus' own tool accepts the alerts, and each fires exactly when it should.
func TestPromtool(t *testing.T) {
	promtool := stage.Tool(t, "promtool")
	for _, args := range [][]string{{"check", "rules", "../docs/alerts.yml"},
		{"test", "rules", "testdata/alerts_test.yml"}} {
		out, err := exec.Command(promtool, args...).CombinedOutput()
		require.NoError(t, err, "promtool %v\n%s", args, out)
	}
}
