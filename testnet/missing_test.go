package testnet

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
)

// These are lines of a node's log.
const (
	logRaised = "I[2026-11-30|17:16:25.213] no gradient, nothing signed and nothing spent: no gradient: trainer failed: " +
		"it says: RuntimeError: too many calls (my.py line 11) module=worker \n"
	logPauses = "I[2026-11-30|17:16:25.714] no gradient, nothing signed and nothing spent: no gradient: trainer failed: " +
		"it starts again after a pause module=worker \n"
	logLate = "I[2026-11-30|17:16:27.972] no gradient, nothing signed and nothing spent: no gradient: round 10 closed " +
		"while the trainer computed module=worker \n"
	logMade    = "I[2026-11-30|17:16:28.000] gradient computed                 module=worker round=11 took=17ms\n"
	logUnbegun = "I[2026-11-30|17:16:25.714] the trainer has not started, it is tried again module=worker " +
		"err=\"trainer failed: no answer in time\" after=500ms\n"
)

// logged makes nodes with logs.
func logged(t *testing.T, logs ...string) (nodes []Node) {
	for i, text := range logs {
		nodes = append(nodes, Node{Home: filepath.Join(t.TempDir(), strconv.Itoa(i)), RPC: "tcp://127.0.0.1:1"})
		require.NoError(t, os.Mkdir(nodes[i].Home, 0o700))
		require.NoError(t, os.WriteFile(nodes[i].LogFile(), []byte(text), 0o600))
	}
	return nodes
}

// TestFailureInLog: the reason is that of the failure, and not of what follows it, until a gradient is made.
func TestFailureInLog(t *testing.T) {
	const raised = "trainer failed: it says: RuntimeError: too many calls (my.py line 11)"
	for text, want := range map[string]string{
		"": "", logRaised: raised, logRaised + logPauses + logLate: raised, logRaised + logMade: raised,
		logUnbegun: "trainer failed: no answer in time", logRaised + logUnbegun: "trainer failed: no answer in time",
		logLate: "", // it works, and is slow
	} {
		why, isLast := failureIn(nodeLog{path: logged(t, text)[0].LogFile()})
		require.Equal(t, want, why, text)
		require.Equal(t, want != "" && !strings.HasSuffix(text, logMade), isLast, text)
	}
	why, _ := failureIn(nodeLog{path: filepath.Join(t.TempDir(), "none")})
	require.Empty(t, why)
	why, _ = failureIn(nodeLog{logged(t, logRaised+logMade)[0].LogFile(), int64(len(logRaised))})
	require.Empty(t, why, "of an earlier run")
}

// TestTrainerFails: of a trainer that fails a run warns once, the rounds name it, and the summary says why.
func TestTrainerFails(t *testing.T) {
	var out bytes.Buffer
	var warned []string
	r := &Reporter{Out: &out, Warn: func(text string) { warned = append(warned, text) },
		Manifest: Manifest{Trainer: []string{"python3", "train.py"}}}
	nodes := logged(t, logRaised, "", "")
	require.NoError(t, r.Begin(Running{Nodes: nodes}))
	for i, text := range []string{logMade, logRaised, logRaised + logMade} {
		require.NoError(t, os.WriteFile(nodes[i].LogFile(), []byte(map[int]string{0: logRaised}[i]+text), 0o600))
	}
	for round := range uint64(2) {
		require.NoError(t, r.Round(Round{Round: round, Included: 2, Missing: []uint32{0, 1, 7}, Late: []uint32{0, 1},
			Unmeasured: "no answer"}))
	}
	require.NoError(t, r.End(0))
	const says = "it says: RuntimeError: too many calls (my.py line 11)"
	require.Equal(t, []string{"the accuracy after round 0 was not measured, as the run's own trainer fails: no answer; " +
		"spdl-lab report measures it again", "the trainer of participant 1 fails: " + says,
		"the trainer of participant 2 fails: " + says}, warned)
	require.Equal(t, 2, bytes.Count(out.Bytes(), []byte("missing 0, 1 (its trainer fails), 7\n")), out.String())
	require.Contains(t, out.String(), "participant 1 in 2 of 2 rounds, participant 7 in 2 of 2 rounds\n")
	require.Contains(t, out.String(), "participant 0 in 2 of 2 rounds, as it was late, ")
	require.Contains(t, out.String(), "\ntrainers failed, and were tried again: those of 1, 2: "+says+"\n")
	require.NotContains(t, out.String(), "participant 2 in")
}

// TestStandstill: a net in which more trainers fail than the rule withstands cannot go on, and says whose and why.
func TestStandstill(t *testing.T) {
	n := &Net{Manifest: Manifest{Validators: 4}, Nodes: logged(t, logMade, logMade, logRaised, ""),
		Genesis: app.Genesis{Params: params.Params{Rule: params.Rule{Byzantine: 1}}}}
	said, err := n.Standstill(t.Context(), 0)
	require.NoError(t, err)
	require.Equal(t, "participant 2 makes no gradient: trainer failed: it says: RuntimeError: too many calls (my.py line "+
		"11); ", said)
	n.Nodes = logged(t, logMade, logUnbegun, logRaised, "")
	_, err = n.Standstill(t.Context(), 0)
	require.ErrorContains(t, err, "participant 1 makes no gradient: trainer failed: no answer in time; participant 2 "+
		"makes no gradient: ")
	n.Nodes, n.Manifest.Attacks = logged(t, logMade, logMade, logRaised, ""), []Attack{{Node: 0, Kind: "silent"}}
	_, err = n.Standstill(t.Context(), 0)
	require.Error(t, err, "no round closes without those of a silent attacker and of one that fails")
}
