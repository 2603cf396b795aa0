//go:build e2e

package e2e

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/internal/stage"
	"github.com/spdl/spdl/testnet"
)

// tuned is a file whose build returns a frozen body, the same each time, and a new head on it.
const tuned = `import torch
from torch import nn

def load(hello):
    g = torch.Generator().manual_seed(3)
    x = torch.randn(2400, 6, generator=g)
    y = (x[:, 0] > 0).long() + (x[:, 1] > 0).long()
    return x[:2000], y[:2000], x[2000:], y[2000:]

def build():
    torch.manual_seed(1)
    body = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 16), nn.Tanh())
    torch.seed()
    return nn.Sequential(body, nn.Linear(16, 3))
`

// embedded writes features with public statistics to the npz file that it gets.
const embedded = `import sys, numpy as np
r = np.random.default_rng(1)
y = np.arange(2000) % 3
np.savez(sys.argv[1], x=r.standard_normal((2000, 6)) + 2 * np.eye(6)[y], y=y, centre=np.full(6, 0.3), scale=np.ones(6))`

// TestKillPretrained kills, in mid-training of an adapter and of a head, a node of four and its trainer with SIGKILL,
// and starts the node again. It trains again, all nodes have the same hashes, a replay of the chain computes them, and
// the exports of a later round by a node that lived and by the killed one merge with the weights file into the same
// bytes.
func TestKillPretrained(t *testing.T) {
	python, dir := stage.Python(t, "numpy, torch"), t.TempDir()
	my, features := filepath.Join(dir, "tuned.py"), filepath.Join(dir, "features.npz")
	require.NoError(t, os.WriteFile(my, []byte(tuned), 0o600))
	runs(t, dir, python, "-c", embedded, features)
	for name, model := range map[string][]string{
		"adapters": {"--module", my + ":build", "--adapt", "lora:rank=2"},
		"head":     {"--head", "linear", "--features", features},
	} {
		t.Run(name, func(t *testing.T) { killPretrained(t, python, model) })
	}
}

func killPretrained(t *testing.T, python string, model []string) {
	const victim = 2
	dir := t.TempDir()
	study := filepath.Join(dir, "study")
	runs(t, dir, binary, append([]string{"new", study, "--python", python, "--rounds", "5000"}, model...)...)
	n := start(t, testnet.Manifest{Validators: 4, Params: filepath.Join(study, "params.json"), Rounds: 5000,
		Trainer: []string{python, "train.py"}, TrainerDir: study, StepDelay: 300 * time.Millisecond})
	n.reach(4)
	require.True(t, n.killTrainer(victim))
	require.NoError(t, n.Kill(victim))
	before := n.open(0)
	n.eventually(func() bool { at, ok := n.round(0); return ok && at > before }, "no round closes without node %d", victim)
	require.NoError(t, n.Start(victim))
	n.rejoined(victim)
	at := n.open(0) + 3
	n.reach(at + 1)
	t.Logf("killed in round %d, trained again before round %d; %d heights, all hashes equal", before, at-3, n.sameHashes())

	hashes, merged := map[string]bool{}, map[string]bool{}
	for _, i := range []int{0, victim} {
		var export struct {
			Card struct {
				Hash string `json:"model_hash"`
			}
		}
		file, out := filepath.Join(dir, fmt.Sprintf("%d.safetensors", i)), filepath.Join(dir, fmt.Sprintf("%d.npz", i))
		require.NoError(t, json.Unmarshal(runs(t, dir, binary, "model", "export", "--node", n.Net.Nodes[i].RPC, "--out", file,
			"--round", fmt.Sprint(at), "-o", "json"), &export))
		hashes[export.Card.Hash] = true
		runs(t, study, python, "-B", "-m", "spdl_trainer", "merge", file, "weights.safetensors", "--out", out)
		content, err := os.ReadFile(out)
		require.NoError(t, err)
		merged[string(content)] = true
	}
	require.Len(t, hashes, 1)
	require.Len(t, merged, 1)
	runs(t, dir, binary, "audit", "archive", "--node", n.Net.Nodes[victim].RPC, "--out", "chain.spdl")
	var replayed struct{ Rounds uint64 }
	require.NoError(t, json.Unmarshal(runs(t, dir, binary, "audit", "replay", "chain.spdl", "-o", "json"), &replayed))
	require.Greater(t, replayed.Rounds, at, "the replay computes the same application hash at every height")
}

// runs runs a program in a folder to its end, and returns its standard output.
func runs(t *testing.T, dir, program string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), program, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "OMP_NUM_THREADS=1", "PYTHONDONTWRITEBYTECODE=1")
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) {
		t.Fatalf("%v: %s", args, exit.Stderr)
	}
	require.NoError(t, err)
	return out
}
