package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/genesis"
	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/cmd/spdl/templates"
	"github.com/spdl/spdl/internal/stage"
)

// TestStudies: each template runs as it is written out: it is checked and trains on four nodes,
// which learn and spend what the study says.
func TestStudies(t *testing.T) {
	stage.OnlyLong(t) // runs nets
	for name, c := range map[string]struct {
		modules string
		rounds  string // fewer than the template's where they take long
		least   float64
	}{
		"numpy-csv":   {"numpy", "60", 0.9},
		"sklearn":     {"numpy", "60", 0.9},
		"pytorch-cnn": {"numpy, torch", "3", 0.2},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "pytorch-cnn" {
				stage.OnlyLong(t)
			}
			python, dir := stage.Python(t, c.modules), filepath.Join(t.TempDir(), "study")
			_, stderr, code := spdl(t, "new", dir, "--template", name, "--python", python, "--rounds", c.rounds)
			require.Zero(t, code, stderr)
			stdout, stderr, code := spdl(t, "trainer", "check", python, filepath.Join(dir, "train.py"), "--parts", "4", "-o",
				"json")
			require.Zero(t, code, stdout+stderr)
			cmd := process(t, "testnet", "start", "--manifest", filepath.Join(dir, "net.toml"), "-o", "json")
			out, err := cmd.Output()
			require.NoError(t, err, cmd.Stderr)
			lines := strings.Split(strings.TrimSpace(string(out)), "\n")
			var last line
			require.NoError(t, json.Unmarshal([]byte(lines[len(lines)-1]), &last))
			require.Greater(t, *last.TestAccuracy, c.least)
			require.Empty(t, processesUnder(t, dir), "trainers end with their nodes")
		})
	}
}

// TestExternalTakesTheTrainersExamples: a net of the preset external has the batch and the rate of
// the examples that the trainer has, a genesis and a plan name the flag that they lack, and a check
// and a plan say where examples and batch do not fit.
func TestExternalTakesTheTrainersExamples(t *testing.T) {
	stage.OnlyLong(t)
	python, dir := stage.Python(t, "numpy"), filepath.Join(t.TempDir(), "study")
	_, stderr, code := spdl(t, "new", dir, "--python", python)
	require.Zero(t, code, stderr)
	p, err := preset.Load(filepath.Join(dir, "params.json"))
	require.NoError(t, err)
	text, err := json.Marshal(p.Model)
	require.NoError(t, err)
	model, script, net := filepath.Join(dir, "model.json"), filepath.Join(dir, "train.py"),
		filepath.Join(t.TempDir(), "net")
	require.NoError(t, os.WriteFile(model, text, 0o600))
	_, stderr, code = spdl(t, "testnet", "init", "--home", net, "--preset", "external", "--model", model, "--trainer",
		python+" "+script)
	require.Zero(t, code, stderr)
	doc, err := genesis.ReadFile(filepath.Join(net, "node0", "config", "genesis.json"))
	require.NoError(t, err)
	g, _, err := home.CheckGenesis(doc)
	require.NoError(t, err)
	require.Equal(t, 1.0, g.Params.Privacy.SamplingRate)
	require.InDelta(t, 1000, g.Params.Privacy.Batch, 50, "a fifth of 5,000 rows is for testing, by hash: five "+
		"standard deviations")
	_, stderr, code = spdl(t, "plan", "--preset", "external", "--model", model)
	require.Equal(t, 2, code)
	require.Contains(t, stderr, "--examples")

	const warning = "examples as part 0 of 1, and privacy.batch"
	_, stderr, code = spdl(t, "trainer", "check", python, script)
	require.Zero(t, code, stderr)
	require.Contains(t, stderr, warning)
	_, stderr, code = spdl(t, "trainer", "check", python, script, "--parts", "4")
	require.Zero(t, code, stderr)
	require.NotContains(t, stderr, "privacy.batch")
	stdout, stderr, code := spdl(t, "plan", "--preset", "default", "--examples", "7000")
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "is for 15000 examples a participant, not for 7000")
	stdout, stderr, code = spdl(t, "plan", "--preset", "default", "--examples", "8000")
	require.Zero(t, code, stderr)
	require.NotContains(t, stdout, "batch is for")
}

// TestLabelsOfTemplates: a label of a template's table that is no class of the chain keeps a net from
// being made. The error has the row and the bound, and not the label, which is private.
func TestLabelsOfTemplates(t *testing.T) {
	stage.OnlyLong(t)
	python := stage.Python(t, "numpy")
	for _, name := range []string{"numpy-csv", "sklearn"} {
		for _, label := range []string{"77", "-77", "0.77", "nan"} {
			dir, net := filepath.Join(t.TempDir(), "study"), filepath.Join(t.TempDir(), "net")
			_, stderr, code := spdl(t, "new", dir, "--template", name, "--python", python)
			require.Zero(t, code, stderr)
			file := filepath.Join(dir, "data.csv")
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			lines := strings.Split(string(text), "\n")
			lines[3] = lines[3][:strings.LastIndex(lines[3], ",")+1] + label
			require.NoError(t, os.WriteFile(file, []byte(strings.Join(lines, "\n")), 0o600))
			_, stderr, code = spdl(t, "testnet", "init", "--manifest", filepath.Join(dir, "net.toml"), "--home", net)
			require.Equal(t, 1, code)
			require.Contains(t, stderr, "data.csv: the label of row 3 below the header is no whole number from 0 to 2, as "+
				"the chain has 3 classes; 1 of 5000 labels are outside")
			require.NotContains(t, stderr, "77")
			require.NoDirExists(t, net)
		}
	}
}

// TestStudyOfOtherValidators: a net with other validators than its study's is warned of f and batch, and is made.
func TestStudyOfOtherValidators(t *testing.T) {
	stage.OnlyLong(t)
	dir := filepath.Join(t.TempDir(), "study")
	_, stderr, code := spdl(t, "new", dir, "--template", "numpy-csv", "--python", stage.Python(t, "numpy"))
	require.Zero(t, code, stderr)
	for n, want := range map[string]bool{"4": false, "7": true} {
		_, stderr, code = spdl(t, "testnet", "init", "--manifest", filepath.Join(dir, "net.toml"), "--validators", n,
			"--home", filepath.Join(t.TempDir(), "net"))
		require.Zero(t, code, stderr)
		require.Equal(t, want, strings.Contains(stderr, "params.json is for 4 participants, with f = 1 and batch 300, and "+
			"the net has 7: make a study for them with spdl new --validators 7"), stderr)
	}
}

// TestWrongStudy: a trainer that breaks its promise is refused with exit code 1 and the reason,
// wrong use with 2.
func TestWrongStudy(t *testing.T) {
	python, dir := stage.Python(t, "numpy"), filepath.Join(t.TempDir(), "study")
	_, stderr, code := spdl(t, "new", dir, "--python", python)
	require.Zero(t, code, stderr)
	script := filepath.Join(dir, "train.py")
	text, err := os.ReadFile(script)
	require.NoError(t, err)
	wrong := strings.Replace(string(text), "x, y = self.x[indices], self.y[indices]\n        delta",
		"x, y = self.x[indices], self.y[indices]\n        x = x - x.mean(axis=0)  # over the batch\n        delta", 1)
	require.NotEqual(t, string(text), wrong)
	require.NoError(t, os.WriteFile(script, []byte(wrong), 0o755))
	stdout, stderr, code := spdl(t, "trainer", "check", python, script)
	require.Equal(t, 1, code, stdout)
	require.Contains(t, stdout, "FAILED")
	require.Contains(t, stdout, "batch normalisation")
	require.Contains(t, stderr, "breaks its promises")
	for _, wrong := range []string{"--batch=-5", "--batch=0", "--part=-1", "--part=1", "--parts=0"} {
		_, stderr, code = spdl(t, "trainer", "check", python, script, wrong)
		require.Equal(t, 2, code, wrong)
		require.Contains(t, stderr, "want a batch of at least 1, and a part from 0 to one less than the parts", wrong)
	}
	_, stderr, code = spdl(t, "trainer", "check", python, script, "--params", filepath.Join(dir, "none.json"))
	require.Equal(t, 1, code, stderr)
	_, stderr, code = spdl(t, "new", dir)
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "is not empty")
	_, stderr, code = spdl(t, "new", filepath.Join(dir, "x"), "--template", "keras")
	require.Equal(t, 2, code)
	require.Contains(t, stderr, "want one of "+strings.Join(templates.Names(), ", "))
}

// TestSlowStudy: the check asks for the batch of the parameters, and of a slow step it says what a localnet and a chain
// need. A batch of the user's is the study's, and a script that is not there is no matter of the sandbox.
func TestSlowStudy(t *testing.T) {
	stage.OnlyLong(t)
	python, dir := stage.Python(t, "numpy"), filepath.Join(t.TempDir(), "study")
	_, stderr, code := spdl(t, "new", dir, "--python", python, "--batch", "20")
	require.Zero(t, code, stderr)
	p, err := preset.Load(filepath.Join(dir, "params.json"))
	require.NoError(t, err)
	require.EqualValues(t, 20, p.Privacy.Batch)
	require.InDelta(t, 0.02, p.Privacy.SamplingRate, 1e-9)
	script := filepath.Join(dir, "train.py")
	text, err := os.ReadFile(script)
	require.NoError(t, err)
	slow := strings.Replace(string(text), "        x, y = self.x[indices], self.y[indices]\n",
		"        x, y = self.x[indices], self.y[indices]\n        __import__('time').sleep(0.6 * (len(x) >= 19))\n", 1)
	require.NotEqual(t, string(text), slow)
	require.NoError(t, os.WriteFile(script, []byte(slow), 0o755))
	stdout, stderr, code := spdl(t, "trainer", "check", script, "--python", python, "--parts", "4")
	require.Zero(t, code, stdout+stderr)
	require.Contains(t, stdout, "20 examples took 6")
	require.Contains(t, stderr, "20 examples took 6")
	require.Contains(t, stderr, "ms: the rest of the check takes up to about 1")
	require.Contains(t, stderr, "warning: a step over 20 examples takes 6")
	require.Contains(t, stderr, "give it --patience 3s, and a chain a longer proposal.wait")
	_, stderr, code = spdl(t, "trainer", "check", filepath.Join(dir, "trian.py"), "--python", python)
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "the trainer's script: there is no file")
}
