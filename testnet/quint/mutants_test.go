package quint

import (
	"encoding/json"
	"flag"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A mutant is a fault that is put into a copy of a file of the core.
type mutant struct{ fault, file, old, new string }

// mutants were chosen before the first of them was run.
var mutants = []mutant{
	{"f participants convict one that was late", "app/liveness.go", "late[i] > f &&", "late[i] >= max(f, 1) &&"},
	{"f participants convict a leader", "app/liveness.go", "failed[i] > f &&", "failed[i] >= max(f, 1) &&"},
	{"rests grow by two rounds instead of doubling", "app/liveness.go",
		"p.Rests = s.history.size + 1 + 1<<p.Strikes", "p.Rests = s.history.size + 1 + 2*uint64(p.Strikes)"},
	{"a participant has an eleventh strike", "app/liveness.go",
		"min(p.Strikes+1, maxStrikes)", "min(p.Strikes+1, maxStrikes+1)"},
	{"a participant rests one round longer", "app/liveness.go",
		"return p.Rests > s.history.size }", "return p.Rests > 0 && p.Rests >= s.history.size }"},
	{"a resting participant has strikes", "app/liveness.go",
		"late[i] > f && s.isRequired(&s.Participants[i])", "late[i] > f && s.isContributor(&s.Participants[i])"},
	{"the last round of an epoch is judged in the next", "app/liveness.go",
		"if s.Progress.Round == 0 {", "if s.Progress.Round+s.Progress.Epoch == 0 {"},
	{"a commitment of the reveal phase saves its sender from a strike", "app/liveness.go",
		"(c == nil || len(c.VrfOutput) == 0)", "c == nil"},
	{"each block without a round that ends a phase is a boundary", "app/execute.go",
		"(next.isOver() || stalled) && (len(b.Txs)+len(b.Misbehavior) > 0 || s.isBoundaryDue())",
		"(next.isOver() || stalled)"},
	{"observations may be in any order", "app/admit.go", "|| i > 0 && index <= list[i-1] {",
		"|| i < 0 && index <= list[i-1] {"},
	{"a gradient needs no VRF proof", "app/admit.go",
		"return s.Params.Election.CommitReveal && len(g.VrfProof) == 0", "return len(g.VrfProof) == 0"},
	{"each Present counts", "app/liveness.go",
		"(p.Presented == 0 || s.history.size+1 >= p.Presented+1<<p.Strikes)", "true"},
	{"a participant may send a Present one round too late", "app/liveness.go",
		"s.history.size+1 >= p.Presented+1<<p.Strikes", "s.history.size+1 > p.Presented+1<<p.Strikes"},
	{"a Present for an earlier round counts", "app/liveness.go", "p.Round >= max(at.Round, 1)-1",
		"p.Round >= max(at.Round, 2)-2"},
	{"a Present ends the rest in the open round", "app/liveness.go",
		"who.Rests, who.Presented = s.history.size+1,", "who.Rests, who.Presented = s.history.size,"},
	{"a Present counts when the rest ends by itself", "app/liveness.go",
		"return p.Rests > s.history.size+1 &&", "return p.Rests > s.history.size &&"},
	{"views are counted from the height that opened the round", "app/election.go",
		"closes := s.Progress.Opened + e.QuorumBlocks", "closes := s.Progress.Opened"},
	{"a round closes without required gradients one height late", "app/liveness.go",
		"if height >= quorum {", "if height > quorum {"},
	{"an offender may lead", "app/election.go",
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
		"cmp.Or(r.checkSeat(p), s.checkKeysFree(p, r.keys()))", "cmp.Or(nil, s.checkKeysFree(p, r.keys()))"},
	{"a new VRF key contends at once", "app/rotate.go",
		"p.Contends = s.history.size + contendAfter", "p.Contends = s.history.size"},
	{"an epoch starts one round late", "app/start_epoch.go",
		"s.openRound(0)", "s.openRound(1)"},
	{"an epoch keeps the counts of releases", "app/start_epoch.go",
		"p.Releases, p.Strikes, p.Rests, p.Presented, p.PassedOver = 0, 0, 0, 0, 0, 0",
		"p.Strikes, p.Rests, p.Presented, p.PassedOver = 0, 0, 0, 0, 0"},
	{"an epoch keeps strikes", "app/start_epoch.go",
		"p.Strikes, p.Rests, p.Presented, p.PassedOver = 0, 0, 0, 0, 0, 0",
		"p.Rests, p.Presented, p.PassedOver = 0, 0, 0, 0, 0"},
	{"the height of an upgrade is not held", "app/version.go",
		"return s.upgradedAt(s.Height + 1)", "return s.upgradedAt(s.Height)"},
	{"the ledger does not count withheld gradients", "app/execute.go",
		"newState.Participants[index].Spent = s.Params.Privacy.Pay(newState.Participants[index].Spent)", "_ = index"},
	{"a fault of a leader shortens its pause", "app/election.go",
		"max(p.Contends, s.history.size+1+1<<p.PassedOver)", "s.history.size + 1 + 1<<p.PassedOver"},
	{"a leader has an eleventh fault", "app/election.go",
		"min(p.PassedOver+1, maxPause)", "min(p.PassedOver+1, maxPause+1)"},
	{"gradients decide the election of a round with commitments", "app/execute.go",
		"if s.Params.Election.CommitReveal {\n\t\tout = nil", "if len(listed) == 0 {\n\t\tout = nil"},
	{"a participant contends one round late", "app/election.go",
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
	{"the commit phase ends with one commitment fewer", "app/commit.go",
		"least := s.Active() - s.F()", "least := max(1, s.Active()-s.F()-1)"},
	{"the commit phase waits from its first height on", "app/commit.go",
		"height >= since[least-1]+s.Params", "height >= s.Progress.Opened+s.Params"},
	{"the commit phase waits from the first commitment on", "app/commit.go", "since[least-1]+", "since[0]+"},
	{"a commitment of the reveal phase has a VRF output", "app/commit.go",
		"if !s.Progress.Revealing {\n\t\t\tout, _", "if len(c.Hash) > 0 {\n\t\t\tout, _"},
	{"the reveal phase takes commitments one height late", "app/commit.go",
		"CommitReveal && height >= s.Progress.Opened", "CommitReveal && height > s.Progress.Opened"},
	{"the proof of a commitment of the reveal phase is not verified", "app/commit.go",
		"s.VRFInput()); err != nil {", "s.VRFInput()); err != nil && s.Committing() {"},
}

// survives has the mutants that no kept trace finds, and what finds them.
var survives = map[string]string{
	"views are counted from the height that opened the round":       "TestViews of app",
	"a rotation that waited seats a convicted validator again":      "TestConvictGetsNoSeat of app",
	"the proof of a commitment of the reveal phase is not verified": "TestLateCommit of app",
}

var playMutants = flag.Bool("mutants", false, "whether TestMutants replays the traces on each mutant")

// TestMutants replays the traces on each mutant of the core with -mutants: they find each, but those of which
// survives says why not. Without the flag it only checks that each fault still has its place in the code.
func TestMutants(t *testing.T) {
	for _, m := range mutants {
		t.Run(m.fault, func(t *testing.T) {
			if !*playMutants {
				m.source(t)
				return
			}
			found, why := m.found(t), survives[m.fault]
			t.Logf("found: %q", found)
			require.Equal(t, why == "", found != "", why)
		})
	}
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
