package testnet

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/model/evaluate"
	"github.com/spdl/spdl/app/params"
)

func value(x float64) *float64 { return &x }

var reported = []Round{
	{Type: "round", Round: 0, Height: 3, Leader: 2, Included: 4, TestAccuracy: value(0.5), LGC: value(1.25),
		GE: value(2), BC: value(30)},
	{Type: "round", Epoch: 1, Round: 1, Height: 5, View: 1, Leader: 0, Included: 3},
	{Type: "round", Epoch: 1, Round: 2, Height: 6, Leader: 3, Included: 4, TestAccuracy: value(0.9075),
		Epsilon: value(1.25), LGC: value(3), GE: value(4), BC: value(5)},
}

func report(t *testing.T, r *Reporter) {
	t.Helper()
	require.NoError(t, r.Begin(Running{ChainID: "c",
		Nodes: []Node{{Home: "h", RPC: "tcp://127.0.0.1:1", P2P: "127.0.0.1:2"}}, Explorer: "http://127.0.0.1:3"}))
	for _, x := range reported {
		require.NoError(t, r.Round(x))
	}
	require.NoError(t, r.End(1<<30))
}

// TestJSONLines: the lines' keys are what scripts read, and never change.
func TestJSONLines(t *testing.T) {
	var out bytes.Buffer
	report(t, &Reporter{Out: &out, JSON: true, Rounds: 3})
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	require.Len(t, lines, 5)
	require.JSONEq(t, `{"type":"net","chain_id":"c","nodes":[{"home":"h","rpc":"tcp://127.0.0.1:1",`+
		`"p2p":"127.0.0.1:2"}],"explorer":"http://127.0.0.1:3"}`, lines[0])
	lines = lines[1:]
	require.JSONEq(t, `{"type":"round","epoch":0,"round":0,"height":3,"view":0,"leader":2,"included":4,`+
		`"test_accuracy":0.5,"epsilon":null,"t_lgc_ms":1.25,"t_ge_ms":2,"t_bc_ms":30}`, lines[0])
	require.JSONEq(t, `{"type":"round","epoch":1,"round":1,"height":5,"view":1,"leader":0,"included":3,`+
		`"test_accuracy":null,"epsilon":null,"t_lgc_ms":null,"t_ge_ms":null,"t_bc_ms":null}`, lines[1])
	var s map[string]any
	require.NoError(t, json.Unmarshal([]byte(lines[3]), &s))
	require.Less(t, s["wall_s"], 10.0)
	delete(s, "wall_s")
	require.Equal(t, map[string]any{
		"type": "summary", "rounds": 3.0, "heights": 6.0, "test_accuracy": 0.9075, "epsilon": 1.25,
		"peak_rss_bytes": float64(1 << 30),
	}, s)
}

func TestText(t *testing.T) {
	var out, progress bytes.Buffer
	report(t, &Reporter{Out: &out, Progress: &progress, Rounds: 3, Delta: 1e-6})
	lines := strings.Split(out.String(), "\n")
	require.Equal(t, []string{"node 0  tcp://127.0.0.1:1", "explorer  http://127.0.0.1:3"}, lines[:2])
	lines = lines[2:]
	require.Equal(t, []string{"0", "3", "2", "0", "4", "0.5000", "0.5000", "-", "1.2", "2.0", "30.0"},
		strings.Fields(lines[1]))
	require.Equal(t, []string{"1", "5", "0", "1", "3", "-", "-", "-", "-", "-", "-"}, strings.Fields(lines[2]))
	require.Contains(t, out.String(), "3 rounds in 6 blocks, test accuracy 0.9075")
	require.Contains(t, out.String(), "epsilon 1.250 at delta 1e-06")
	require.Contains(t, out.String(), "1024 MiB")
	require.NotContains(t, out.String(), "CPU")
	used := 10 * time.Second
	report(t, &Reporter{Out: &out, Rounds: 3, CPU: func() ([]time.Duration, time.Duration) {
		used += time.Second
		return []time.Duration{used, 2 * used}, used / 2
	}})
	require.Contains(t, out.String(), "CPU a round: nodes 0.500 1.000 s, workers without a node 0.250 s\n",
		"one second in the two rounds after the first")
	require.NotContains(t, out.String(), "\x1b", "the bar is on the other stream")
	out.Reset()
	measures := evaluate.Measures{Majority: 0.88, Frequent: "alive", Class: "dead", Positive: "dead", Recall: 0.25,
		Examples: 4, Quality: &evaluate.Quality{AUC: 0.75, Brier: 0.0625}, Warnings: []string{"far"}}
	rare := &Reporter{Out: &out, Last: Round{TestAccuracy: value(0.9), Tested: 50, Measures: &measures}}
	require.NoError(t, rare.End(0))
	require.Contains(t, out.String(), "test accuracy 0.9000 on 50 examples (guessing alive gives 0.8800; AUC 0.7500")
	require.Contains(t, out.String(), "\nwarning: far\n")
	rare.Model = params.Model{Classes: 2, Table: &params.Table{}}
	require.Equal(t, []string{"accuracy", "guessing", "recall", "AUC", "Brier"}, strings.Fields(rare.results(nil)))
	require.Equal(t, []string{"0.9000", "0.8800", "0.2500", "0.7500", "0.0625"}, strings.Fields(rare.results(&rare.Last)))
	require.Equal(t, []string{"-", "-", "-", "-", "-"}, strings.Fields(rare.results(&Round{})))
	rare.Model.Classes = 3
	require.Equal(t, []string{"0.9000", "0.8800", "0.2500"}, strings.Fields(rare.results(&rare.Last)))
	test := &Reporter{TestChain: true}
	require.Contains(t, test.privacy(value(1)), "TEST CHAIN ONLY")
	require.Equal(t, "NO DP GUARANTEE", test.privacy(nil))
	require.Contains(t, progress.String(), "1/3")
	require.True(t, strings.HasSuffix(progress.String(), "\r\x1b[K"), "the bar is gone at the end")
}

// TestTextOfANetThatGoesOn: the rounds of earlier runs are counted and not listed.
func TestTextOfANetThatGoesOn(t *testing.T) {
	for closed, says := range map[int]string{1: "rounds closed before this run: 1", 3: "had finished before"} {
		var out bytes.Buffer
		r := &Reporter{Out: &out, Rounds: 3}
		require.NoError(t, r.Begin(Running{}))
		for i, x := range reported {
			x.Past = i < closed
			require.NoError(t, r.Round(x))
		}
		require.NoError(t, r.End(0))
		require.Contains(t, out.String(), says)
		require.Contains(t, out.String(), "3 rounds in 6 blocks")
		require.Len(t, strings.Split(strings.TrimSpace(out.String()), "\n"), 1+1+(3-closed)+2, out.String())
	}
}

// TestMissing: the lines name whose gradients are missing, and the last lines for how many rounds, and what lets rounds
// wait for slow steps unless an attack is the reason.
func TestMissing(t *testing.T) {
	var out bytes.Buffer
	r := &Reporter{Out: &out, Manifest: Manifest{Attacks: []Attack{{Node: 3, Kind: "silent"}}}}
	crowd := []uint32{3, 4, 5, 6, 7, 8, 9, 10, 11, 12}
	require.NoError(t, r.Round(Round{Round: 0, Missing: []uint32{1, 3}, Late: []uint32{1}}))
	require.NoError(t, r.Round(Round{Round: 1, Missing: crowd}))
	require.NoError(t, r.End(0))
	require.Contains(t, out.String(), "  missing 1, 3\n")
	require.Contains(t, out.String(), "  missing 3, 4, 5, 6, 7, 8, 9, 10, and 2 more\n")
	require.Contains(t, out.String(), "gradients missing: participant 3 in 2 of 2 rounds by its attack silent, "+
		"participant 1 in 1 of 2 rounds, as it was late, participant 4 in 1 of 2 rounds, ")
	require.Contains(t, out.String(), "participant 9 in 1 of 2 rounds, and 3 more\nif its training steps are "+
		"slow: a net made with --patience 30s has rounds that wait so much longer for them; spdl trainer check measures a "+
		"step\n")
	out.Reset()
	r.JSON = true
	require.NoError(t, r.End(0))
	require.Contains(t, out.String(), `"missed":[{"participant":3,"rounds":2},{"participant":1,"rounds":1,"late":true},`)

	out.Reset()
	r = &Reporter{Out: &out, Manifest: r.Manifest}
	require.NoError(t, r.Round(Round{Missing: []uint32{3}, Late: []uint32{3}}))
	require.NoError(t, r.End(0))
	require.NotContains(t, out.String(), "--patience", "an attack is the reason")
}
