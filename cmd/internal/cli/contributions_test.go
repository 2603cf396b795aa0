package cli

import (
	"cmp"
	"encoding/csv"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/cmd/internal/audit"
	"github.com/spdl/spdl/cmd/internal/contribution"
)

// TestContributionsAndWithdrawal: both audits of a small net's home print a table and JSON that
// agree, and CSV of the contributions. An error names the epoch or participant that does not exist.
func TestContributionsAndWithdrawal(t *testing.T) {
	if testing.Short() {
		t.Skip("runs a net")
	}
	net := filepath.Join(t.TempDir(), "net")
	_, stderr, code := spdl(t, "testnet", "start", "--preset", "pixels", "--inprocess", "--rounds", "2", "--seed", "4",
		"--no-eval", "--home", net)
	require.Zero(t, code, stderr)
	home := filepath.Join(net, "node0")
	run := func(want int, args ...string) (stdout, stderr string) {
		stdout, stderr, code := spdl(t, append([]string{"audit", "--home", home}, args...)...)
		require.Equal(t, want, code, stderr)
		return stdout, stderr
	}

	var r contribution.Report
	stdout, _ := run(0, "contributions", "--pairs", "1", "-o", "json")
	require.NoError(t, json.Unmarshal([]byte(stdout), &r))
	require.Equal(t, uint64(2), r.Rounds)
	require.Len(t, r.Members, 4)
	sum := r.Copied + r.Rest
	for _, m := range r.Members {
		sum += m.Shapley.Sum
	}
	require.InDelta(t, r.Improvement, sum, 1e-9)
	text, _ := run(0, "contributions", "--pairs", "1")
	require.Contains(t, text, r.TestHash)
	require.Contains(t, text, r.InputsHash)
	require.Contains(t, text, r.Members[3].Shapley.String())
	stdout, _ = run(0, "contributions", "--pairs", "1", "--csv")
	lines, err := csv.NewReader(strings.NewReader(stdout)).ReadAll()
	require.NoError(t, err)
	require.Len(t, lines, 5)
	require.Equal(t, "shapley", lines[0][4])
	value, err := json.Marshal(r.Members[3].Shapley.Sum)
	require.NoError(t, err)
	require.JSONEq(t, string(value), lines[4][4])
	_, stderr = run(1, "contributions", "--epoch", "3")
	require.Contains(t, stderr, "epoch 3 has no closed round, the chain is in epoch 0")
	run(2, "contributions", "--csv", "-o", "json")

	// On a busy machine a member may have come too late for both rounds.
	most := slices.MaxFunc(r.Members, func(a, b contribution.Member) int { return cmp.Compare(a.Rounds, b.Rounds) })
	member := strconv.Itoa(int(most.Participant))
	var w audit.Withdrawal
	stdout, _ = run(0, "withdraw", member, "-o", "json")
	require.NoError(t, json.Unmarshal([]byte(stdout), &w))
	require.Positive(t, w.Gradients)
	require.Len(t, w.Others, 3)
	text, _ = run(0, "withdraw", member)
	require.Contains(t, text, w.Clean.Hash)
	require.Contains(t, text, "after a restart")
	// a dossier of the same home
	_, stderr, code = spdl(t, "dossier", "--home", home, "--out", filepath.Join(net, "d.html"))
	require.Equal(t, 2, code)
	require.Contains(t, stderr, "d.html, want a name that ends in .zip")
	file := filepath.Join(net, "d.zip")
	text, stderr, code = spdl(t, "dossier", "--template")
	require.Zero(t, code, stderr)
	sheet, signed := filepath.Join(net, "sheet.toml"), filepath.Join(net, "signed.toml")
	require.NoError(t, os.WriteFile(sheet, []byte(strings.Replace(text, `origin = ""`, `origin = "ours"`, 1)), 0o600))
	text, stderr, code = spdl(t, "dossier", "--home", home, "--sign", sheet)
	require.Zero(t, code, stderr)
	require.NoError(t, os.WriteFile(signed, []byte(text), 0o600))
	made, stderr, code := spdl(t, "dossier", "--home", home, "--data-sheet", signed, "--out", file, "-o", "json")
	require.Zero(t, code, stderr)
	var d struct {
		Height int64  `json:"height"`
		Header string `json:"header"`
	}
	require.NoError(t, json.Unmarshal([]byte(made), &d))
	text, stderr, code = spdl(t, "verify", "dossier", file, "--trust-height", strconv.FormatInt(d.Height, 10),
		"--trust-hash", d.Header)
	require.Zero(t, code, stderr)
	require.Contains(t, text, "of participant 0")
	_, stderr, code = spdl(t, "verify", "dossier", file, "--trust-height", "1", "--trust-hash", d.Header)
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "header is not trusted")
	_, stderr, code = spdl(t, "dossier", "--home", home, "--out", file)
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "exists")

	_, stderr = run(1, "withdraw", "9")
	require.Contains(t, stderr, "no such participant: 9, the chain has had 4")
}
