package quint

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A mutant is a fault that is put into a copy of a file of the core.
type mutant struct{ fault, file, old, new string }

// mutants were chosen before the first of them was run.
var mutants = []mutant{
	{"a participant is inactive one point of absence later", "app/liveness.go",
		"bool { return p.Absence >= inactiveFrom }", "bool { return p.Absence > inactiveFrom }"},
	{"a gradient in a probe round does not end inactivity", "app/liveness.go",
		"p.Absence = min(p.Absence, inactiveFrom-1)", "p.Absence = min(p.Absence, inactiveFrom)"},
	{"failed probes do not become rarer", "app/liveness.go",
		"p.Lapses = min(p.Lapses+1, maxLapses)", "p.Lapses = min(p.Lapses+1, 1)"},
	{"views are counted from the height that opened the round", "app/admit.go",
		"closes := s.Progress.Opened + e.QuorumBlocks", "closes := s.Progress.Opened"},
	{"a round closes without required gradients one height late", "app/admit.go",
		"if height >= quorum {", "if height > quorum {"},
	{"an offender may lead", "app/admit.go",
		"case p.Reputation <= 0:", "case p.Reputation < 0:"},
	{"evidence counts twice", "app/evidence.go",
		"if o.Participant == p.Index && (same || o.Height > p.SettledHeight) {",
		"if o.Participant == p.Index && same && o.Height > p.SettledHeight {"},
	{"evidence may be for a round that is to come", "app/evidence.go",
		"if isEarlier(s.Progress.Epoch, s.Progress.Round+1, at.Epoch, at.Round) {",
		"if isEarlier(s.Progress.Epoch, s.Progress.Round+2, at.Epoch, at.Round) {"},
	{"a rotation keeps the old signing key active", "app/rotate.go",
		"next.PubKey = r.PubKey\n\t}\n\tif len(r.VrfKey) > 0 {\n\t\tnext.VrfKey",
		"next.PubKey = p.PubKey\n\t}\n\tif len(r.VrfKey) > 0 {\n\t\tnext.VrfKey"},
	{"a rotation of signing keys does not wait for the end of the round", "app/rotate.go",
		"return len(r.PubKey)+len(r.VrfKey) == 0 ||", "return len(r.VrfKey) == 0 ||"},
	{"a rotation that waited seats a convicted validator again", "app/rotate.go",
		"cmp.Or(r.checkSeat(p), s.checkKeysFree(p, r.keys()))", "s.checkKeysFree(p, r.keys())"},
	{"a new VRF key contends at once", "app/rotate.go",
		"p.Contends = s.history.size + contendAfter", "p.Contends = s.history.size"},
	{"an epoch starts one round late", "app/start_epoch.go",
		"s.openRound(0)", "s.openRound(1)"},
	{"an epoch keeps the counts of releases", "app/start_epoch.go",
		"s.Participants[i].Joined, s.Participants[i].Releases = 0, 0", "s.Participants[i].Joined = 0"},
	{"the height of an upgrade is not held", "app/version.go",
		"return s.upgradedAt(s.Height + 1)", "return s.upgradedAt(s.Height)"},
	{"the ledger does not count withheld gradients", "app/execute.go",
		"newState.Participants[index].Spent = s.Params.Privacy.Pay(newState.Participants[index].Spent)", "_ = index"},
	{"the leader of a later view keeps its count of passed views", "app/round.go",
		"p.PassedOver > 0 {\n\t\tp.PassedOver--", "p.PassedOver > maxPause {\n\t\tp.PassedOver--"},
	{"a participant contends one round late", "app/round.go",
		"p.Reputation == 0 || p.Contends > s.history.size",
		"p.Reputation == 0 || p.Contends >= s.history.size && p.Contends > 0"},
	{"two thirds of the approvals are enough", "app/proposal.go",
		"{ return 3*approvals > 2*s.Active() }", "{ return 3*approvals >= 2*s.Active() }"},
	{"a restore does not settle the height of earlier misbehaviour", "app/restore.go",
		"s.Progress.Epoch, s.Progress.Round, s.Height", "s.Progress.Epoch, s.Progress.Round, s.Progress.Began"},
	{"an approval that was withdrawn can be sent again", "app/withdraw.go",
		"revocations != have {", "revocations > have {"},
	{"a proposal whose last approval is withdrawn waits on", "app/withdraw.go",
		"if s.standing(p) == 0 || s.isWeak", "if len(p.Approvals) > 0 && s.isWeak"},
	{"the phase of commitments ends with one commitment fewer", "app/commit.go",
		"return have >= s.Active()-s.F() &&", "return have >= s.Active()-s.F()-1 &&"},
}

var playMutants = flag.Bool("mutants", false, "whether TestMutants replays the traces on each mutant")

// TestMutants replays the traces on each mutant of the core with -mutants, and prints which ones they find.
// Without the flag it only checks that each fault still has its place in the code.
func TestMutants(t *testing.T) {
	if !*playMutants {
		for _, m := range mutants {
			m.source(t)
		}
		return
	}
	killed := 0
	for _, m := range mutants {
		began := time.Now()
		found := m.found(t)
		verdict := "survived"
		if found != "" {
			verdict = "killed"
			killed++
		}
		t.Logf("%-8s %-60s %5.1f s  %s", verdict, m.fault, time.Since(began).Seconds(), found)
	}
	t.Logf("%d of %d mutants killed", killed, len(mutants))
	require.GreaterOrEqual(t, killed, 22)
}

// source returns the path of the file that the mutant changes, and the changed text.
func (m mutant) source(t *testing.T) (file, changed string) {
	t.Helper()
	file, err := filepath.Abs(filepath.Join("../..", m.file))
	require.NoError(t, err)
	source, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, 1, strings.Count(string(source), m.old), "%s: %q occurs not once", m.file, m.old)
	return file, strings.Replace(string(source), m.old, m.new, 1)
}

// found replays the traces on the mutant, and returns the first difference that they find.
func (m mutant) found(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	file, changed := m.source(t)
	copied := filepath.Join(dir, "mutant.go")
	require.NoError(t, os.WriteFile(copied, []byte(changed), 0o600))
	overlay, err := json.Marshal(map[string]map[string]string{"Replace": {file: copied}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "overlay"), overlay, 0o600))
	binary := filepath.Join(dir, "replay")
	out, err := exec.Command("go", "test", "-overlay", filepath.Join(dir, "overlay"), "-c", "-o", binary,
		".").CombinedOutput()
	require.NoError(t, err, "the mutant is no program: %s", out)
	out, err = exec.Command(binary, "-test.run", "TestTraces", "-traces", *tracesFlag).CombinedOutput()
	if err == nil {
		return ""
	}
	_, first, _ := strings.Cut(string(out), "replay_test.go:")
	first, _, _ = strings.Cut(first, "\n")
	require.NotEmpty(t, first, "the replay failed without a difference: %s", out)
	return first[:min(len(first), 160)]
}
