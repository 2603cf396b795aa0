package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/internal/stage"
)

func TestExperimentUsage(t *testing.T) {
	for text, args := range map[string][]string{
		"":                           {"experiment"},
		"unknown experiment":         {"experiment", "explode"},
		"--seeds is 0":               {"experiment", "regret", "--seeds", "0"},
		"--jobs is -1":               {"experiment", "regret", "--jobs", "-1"},
		"not asked for":              {"experiment", "regret", "--rules", "krum"},
		`--rules is "explode", want`: {"experiment", "attacks", "--rules", "explode"},
		`--attacks is "aware+nil", `: {"experiment", "attacks", "--attacks", "aware+nil"},
		"N >= 4f+1":                  {"experiment", "attacks", "--rules", "bulyan"},
		"tolerates f = 0 attackers":  {"experiment", "attacks", "--nodes", "3", "--attacks", "aware+zero,zero"},
		"at least 1 arg":             {"report"},
		"--out is x.csv, want":       {"report", ".", "--out", "x.csv"},
		`is "mimik" (did you mean mimic?), --help lists all`: {"experiment", "attacks", "--attacks", "mimik"},
		"--csv is x.html, want":                              {"report", ".", "--csv", "x.html"},
		"--out is missing":                                   {"report", ".", ".."},
		"only chains stand side":                             {"report", ".", "..", "--out", "x.html"},
	} {
		_, stderr, code := spdl(t, args...)
		require.Equal(t, 2, code, "%v", args)
		require.Contains(t, stderr, text)
	}
	_, stderr, code := spdl(t, "report", t.TempDir())
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "spdl-lab experiment")
}

// TestExperimentAndReport makes the smallest figure and the page around it.
func TestExperimentAndReport(t *testing.T) {
	stage.OnlyLong(t)
	dir := t.TempDir()
	stdout, stderr, code := spdl(t, "experiment", "reputation", "--quick", "--out", dir)
	require.Equal(t, 0, code, stderr)
	require.Equal(t, filepath.Join(dir, "reputation.svg")+"\n", stdout)
	stdout, stderr, code = spdl(t, "experiment", "reputation", "--quick", "--out", dir, "-o", "json")
	require.Equal(t, 0, code)
	require.JSONEq(t, fmt.Sprintf(`{"files": [%q]}`, filepath.Join(dir, "reputation.svg")), stdout)
	require.Contains(t, stderr, "9 cells, each a training or a net, 9 of them shared or finished before")
	stdout, _, code = spdl(t, "report", dir, "-o", "json")
	require.Equal(t, 0, code)
	require.JSONEq(t, fmt.Sprintf(`{"file": %q}`, filepath.Join(dir, "report.html")), stdout)
	page, err := os.ReadFile(filepath.Join(dir, "report.html"))
	require.NoError(t, err)
	require.Contains(t, string(page), "spdl-lab experiment reputation --quick")
	require.Contains(t, string(page), "data:image/svg&#43;xml;base64,")
	require.Contains(t, string(page), "The same on real nodes: 10 of them")
	require.NotContains(t, string(page), "<script")
}

// chainPage is the report of a chain's home, which the command must end with a
// code.
func chainPage(t *testing.T, want int, home string, flags ...string) (page, stderr string) {
	t.Helper()
	stdout, stderr, code := spdl(t, append([]string{"report", home}, flags...)...)
	require.Equal(t, want, code, stderr)
	require.Equal(t, filepath.Join(home, "report.html")+"\n", stdout)
	raw, err := os.ReadFile(filepath.Join(home, "report.html"))
	require.NoError(t, err)
	for _, outside := range []string{"http://", "https://", "<script"} {
		require.NotContains(t, string(raw), outside)
	}
	return string(raw), stderr
}

func TestReportOfNoChain(t *testing.T) {
	home := filepath.Join(t.TempDir(), "alice")
	_, stderr, code := spdl(t, "init", "alice", "--chain-id", "solo", "--home", home)
	require.Zero(t, code, stderr)
	_, stderr, code = spdl(t, "report", home)
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "has no chain yet")
	_, stderr, code = spdl(t, "report", filepath.Join(home, "missing"))
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "there is no folder")
}
