package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/cmd/internal/cli/study"
)

// planned is the JSON of a plan.
type planned struct {
	Participants    int
	Byzantine       int
	Model           string
	Samples         int
	Batch           int
	Clip            float64
	Rounds          int
	Accountant      string
	Epsilon         *float64
	Delta           float64
	NoiseMultiplier *float64 `json:"noise_multiplier"`
	RDPEpsilon      *float64 `json:"rdp_epsilon"`
	Guarantee       bool
	Rule            struct {
		Name  string
		Holds bool `json:"condition_holds"`
	}
	Accuracy struct{ Measured bool }
	Round    struct {
		Seconds float64
		BoundBy string `json:"bound_by"`
	}
	Config struct {
		BlockBytes int64   `json:"block_max_bytes"`
		TxBytes    int64   `json:"mempool_max_tx_bytes"`
		Wait       float64 `json:"proposal_wait_seconds"`
	}
	Traffic struct {
		Gradient int64 `json:"gradient_bytes"`
		Round    int64 `json:"round_bytes"`
		Day      int64 `json:"day_bytes"`
	}
	Lemma1 struct {
		RDPEpsilon float64 `json:"rdp_epsilon"`
	}
	Sites    []string
	Warnings []string
}

func planOf(t *testing.T, args string) (p planned) {
	t.Helper()
	stdout, stderr, code := spdl(t, append([]string{"plan", "--output", "json"}, strings.Fields(args)...)...)
	require.Zero(t, code, stderr)
	require.Empty(t, stderr)
	require.NoError(t, json.Unmarshal([]byte(stdout), &p), stdout)
	require.NotNil(t, p.Epsilon)
	require.NotNil(t, p.NoiseMultiplier)
	require.NotNil(t, p.RDPEpsilon)
	require.NotNil(t, p.Warnings)
	return p
}

// The study's setting: sampling rate 1/30, 100 rounds, delta 1e-6, epsilon 1.
const setting = "--sampling-rate 0.0333333 --rounds 100 --delta 1e-6 "

func TestPlanNoise(t *testing.T) {
	for _, c := range []struct {
		args            string
		epsilon, z, rdp float64
	}{
		{setting + "--epsilon 1", 1, 1.882, 1},
		{setting + "--epsilon 1 --accountant rdp", 1, 1.882, 1},
		{setting + "--epsilon 1 --accountant pld", 1, 1.750, 1.10},
		{setting + "--epsilon 1 --accountant lemma1", 1, 5.299, 0.2769},
		{setting + "--noise-multiplier 1.8706", 1, 1.8706, 1},
		{setting + "--noise-multiplier 1.8706 --accountant pld", 0.91, 1.8706, 1},
		{setting + "--noise-multiplier 5.299 --accountant lemma1", 1, 5.299, 0.2769},
		{"--rounds 100 --epsilon 1 --accountant analytic", 1, 42.2, 1.05},
	} {
		p := planOf(t, c.args)
		assert.InEpsilon(t, c.epsilon, *p.Epsilon, 0.01, c.args)
		assert.InEpsilon(t, c.z, *p.NoiseMultiplier, 0.002, c.args)
		assert.InEpsilon(t, c.rdp, *p.RDPEpsilon, 0.03, c.args)
		assert.Equal(t, !strings.Contains(c.args, "lemma1"), p.Guarantee, c.args)
		assert.Greater(t, p.Lemma1.RDPEpsilon, 0.0, c.args)
	}
}

func TestPlanDefaults(t *testing.T) {
	p := planOf(t, "--preset default --round-time 1s")
	assert.Equal(t, 11.153, *p.NoiseMultiplier)
	assert.Equal(t, []any{4, 1, "160-10 without bias", 15000, 15000, 1.0, 25, "analytic", 1e-6, "agnostic-mean"},
		[]any{p.Participants, p.Byzantine, p.Model, p.Samples, p.Batch, p.Clip, p.Rounds, p.Accountant, p.Delta, p.Rule.Name})
	assert.True(t, p.Rule.Holds)
	assert.True(t, p.Accuracy.Measured)
	assert.Equal(t, p.Traffic.Round*86400, p.Traffic.Day)

	p = planOf(t, "--preset mlp -n 20 --round-time 10s")
	assert.Equal(t, []any{20, 6, "196-32-10", 3000, 3000, "agnostic-mean", true},
		[]any{p.Participants, p.Byzantine, p.Model, p.Samples, p.Batch, p.Rule.Name, p.Rule.Holds})
	assert.Equal(t, p.Traffic.Round*8640, p.Traffic.Day)
	assert.False(t, p.Accuracy.Measured)

	p = planOf(t, "-n 10 -f 2 --rule krum --examples 1000 --batch 50 --clip 2 --rounds 7 --epsilon 3 --noise-floor=false")
	assert.Equal(t, []any{10, 2, 1000, 50, 2.0, 7, "krum", true, false},
		[]any{p.Participants, p.Byzantine, p.Samples, p.Batch, p.Clip, p.Rounds, p.Rule.Name, p.Rule.Holds,
			p.Accuracy.Measured})
	assert.Contains(t, strings.Join(p.Warnings, "\n"), "no noise floor")
}

// TestPlanLemma1: a preset whose noise is the paper's is planned by the paper's lemma, beside what
// is true: its batches of 100 are of fixed size and count as the whole data set.
func TestPlanLemma1(t *testing.T) {
	p := planOf(t, "--preset paper-lemma1 -n 10")
	assert.Equal(t, []any{"lemma1", false, 100}, []any{p.Accountant, p.Guarantee, p.Batch})
	assert.InEpsilon(t, 0.02, *p.Epsilon, 1e-6)
	assert.InEpsilon(t, 264.94, *p.NoiseMultiplier, 1e-4)
	assert.Greater(t, *p.RDPEpsilon, 7*0.02)
	assert.Contains(t, strings.Join(p.Warnings, "\n"), "lemma1 is the paper's formula, not a guarantee")
	stdout, stderr, code := spdl(t, "plan", "--preset", "paper-lemma1")
	require.Zero(t, code, stderr)
	assert.Contains(t, stdout, "NO GUARANTEE: lemma1 calls it epsilon 0.02 at delta 1e-06; by RDP it is 0.1")

	p = planOf(t, "--preset paper-lemma1 -n 10 --accountant rdp --epsilon 0.02")
	assert.True(t, p.Guarantee)
	assert.Greater(t, *p.NoiseMultiplier, 6*264.94)
	p = planOf(t, "--preset paper-lemma1 -n 10 --batch 50")
	assert.Equal(t, 50, p.Batch)
	assert.Greater(t, *p.RDPEpsilon, 7*0.02)
	p = planOf(t, "--preset paper-lemma1 -n 10 --sampling-rate 0.01")
	assert.Equal(t, 60, p.Batch)
	assert.Less(t, *p.RDPEpsilon, 0.02, "secret batches would make it true")
}

func TestPlanText(t *testing.T) {
	stdout, stderr, code := spdl(t, "plan", "--epsilon", "1")
	require.Zero(t, code, stderr)
	for _, want := range []string{"N = 4 participants, f = 1 Byzantine", "by analytic",
		"agnostic-mean, its condition holds"} {
		assert.Contains(t, stdout, want)
	}
}

func TestPlanWrongUse(t *testing.T) {
	for args, says := range map[string]string{
		"":                                 "--epsilon, --noise-multiplier, --params, --preset or --data is needed",
		"-n 4 --rounds 7":                  "--epsilon, --noise-multiplier, --params, --preset or --data is needed",
		"--epsilon 1 --noise-multiplier 2": "--epsilon and --noise-multiplier: one of them",
		"--epsilon 0":                      "--epsilon is 0, want above 0",
		"--epsilon nan":                    "--epsilon is NaN, want above 0",
		"--noise-multiplier -1":            "--noise-multiplier is -1, want above 0",
		"--epsilon 1 --accountant analytic --sampling-rate .1": "accountant analytic needs sampling rate 1, " +
			"not 0.1",
		"--epsilon 1 --accountant gpd":     `--accountant is "gpd" (did you mean pld or gdp?), want one of rdp, pld,`,
		"--epsilon 1 --delta 2":            "delta 2, want",
		"--epsilon 1 -f 2":                 "2 Byzantine of 4 participants",
		"--epsilon 1 -n 0":                 "preset for 0 participants",
		"--epsilon 1 --rule krumm":         `(did you mean krum?)`,
		"--epsilon 1 --rule vote":          `--rule is "vote", want one of`,
		"--epsilon 1 --batch 5 --rounds 0": "0 rounds",
		"--epsilon 1 --batch 5 --clip 0":   "clip norm 0",
		"--batch 5 --sampling-rate .1":     "--sampling-rate and --batch: one of them",
		"--epsilon 1 --sampling-rate 0":    "sampling rate 0 and batch 0",
		"--epsilon 1 --examples 0":         "0 examples",
		"--epsilon 1 --sites 9,0":          "--sites has 0: want at least 1 example each",
		"--epsilon 1 --sites 9,9 -n 2":     "no --examples or -n, which follow",
		"--preset paper": `preset "paper" has mechanism "prototype", which no epsilon ` +
			`describes: ` +
			`plan one of default, pixels, mlp, paper-lemma1`,
		"--params p.json --preset default": "--params with --preset",
		"--preset nothing":                 `--preset is "nothing", want one of`,
		"--epsilon 1 --noise-floor maybe":  "maybe",
		"--epsilon 1 extra":                "extra",
		"--epsilon 1 --round-time 0s":      "--round-time is 0s, want above 0",
		"--epsilon 1 --link 5": `link "5", want ` +
			`a number above 0 with kbit/s, Mbit/s or Gbit/s`,
		"--epsilon 1 --latency -1s":                           "latency -1s, want 0s to 1m0s",
		"--epsilon 1 --cores 0":                               "0 cores, want 1 to 4096",
		"--epsilon 1e-300 --sampling-rate 1 --accountant rdp": "the least is 0.01",
	} {
		stdout, stderr, code := spdl(t, append([]string{"plan"}, strings.Fields(args)...)...)
		assert.Equal(t, 2, code, "spdl plan %s: %s", args, stderr)
		assert.Contains(t, stderr, says, "spdl plan %s", args)
		assert.Empty(t, stdout)
	}
}

// TestPlanSites: sites of unequal size have the plan of their mean, and a sentence for each size.
func TestPlanSites(t *testing.T) {
	p := planOf(t, "--preset mlp --epsilon 2 --sites 9000,300,3700,3700,1800")
	equal := planOf(t, "--preset mlp --epsilon 2 --examples 3700 -n 5")
	const longer = " times as long as its contribution can be"
	require.Equal(t, []string{
		"300 examples: counts up to 0.081 times as much as one of 3700, noise 6.06" + longer + ": it adds little",
		"1800 examples: counts up to 0.49 times as much as one of 3700, noise 1.01" + longer + ": it adds little",
		"3700 examples: counts up to 1 times as much as one of 3700, noise 0.491" + longer,
		"9000 examples: counts up to 2.4 times as much as one of 3700, noise 0.491" + longer +
			", which the clip norm bounds: the others gain more than it",
	}, p.Sites, "one for each size")
	p.Sites = nil
	require.Equal(t, equal, p)
}

// TestPlanParams: a plan of the parameters that a study or a chain has is the plan of their noise.
func TestPlanParams(t *testing.T) {
	made, err := preset.New("mlp", 7)
	require.NoError(t, err)
	data, err := json.Marshal(made)
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "params.json")
	require.NoError(t, os.WriteFile(file, data, 0o600))
	p := planOf(t, "-n 7 --params "+file)
	require.Equal(t, planOf(t, "-n 7 --preset mlp --examples "+fmt.Sprint(p.Samples)), p)
	fits, _ := made.Privacy.Fits(1)
	require.Equal(t, fits, p.Samples)
	require.Equal(t, made.Privacy.NoiseMultiplier, *p.NoiseMultiplier)
	require.Less(t, *planOf(t, "-n 7 --epsilon 1 --params "+file).Epsilon, *p.Epsilon)
	_, stderr, code := spdl(t, "plan", "-n", "3", "--params", file)
	require.Equal(t, 2, code)
	require.Contains(t, stderr, file)
	_, stderr, code = spdl(t, "plan", "--params", file+".absent")
	require.Equal(t, 1, code)
	require.Contains(t, stderr, file+".absent")
}

// TestPlanLink: the time of a round follows from the link, beside what genesis and a node's
// configuration will say.
func TestPlanLink(t *testing.T) {
	p, n := planOf(t, "--preset mlp -n 7 --link 10Mbit/s --latency 100ms"),
		planOf(t, "--preset mlp -n 7 --link 1Gbit/s --latency 1ms --cores 8")
	assert.Equal(t, "way of the block", p.Round.BoundBy)
	assert.Less(t, n.Round.Seconds, p.Round.Seconds/3)
	assert.InEpsilon(t, float64(p.Traffic.Round)*86400/p.Round.Seconds, float64(p.Traffic.Day), 1e-6)
	made, err := preset.New("mlp", 7)
	require.NoError(t, err)
	assert.Equal(t, made.BlockBytes(7), p.Config.BlockBytes)
	assert.Equal(t, int64(6<<20), p.Config.TxBytes)
	assert.Greater(t, p.Config.Wait, 1.0)
	assert.Contains(t, strings.Join(p.Warnings, "\n"), "a round trip is 200ms")
}

// The plan's bytes are those that the chain reckons with.
func TestPlanBytes(t *testing.T) {
	for _, n := range []int{4, 20} {
		for _, name := range study.Plannable() {
			p, err := preset.New(name, n)
			require.NoError(t, err)
			got := planOf(t, fmt.Sprintf("--preset %s -n %d", name, n)).Traffic
			assert.Equal(t, p.GradientBytes(), got.Gradient)
			assert.Equal(t, p.RoundBytes(n), got.Round)
		}
	}
}

// TestPlanOfTheManual: each spdl plan in the code blocks of docs/OPERATING.md runs as it is typed.
func TestPlanOfTheManual(t *testing.T) {
	text, err := os.ReadFile("../../../docs/OPERATING.md")
	require.NoError(t, err)
	lines := regexp.MustCompile(`(?m)^spdl (plan [^#\n]*)`).FindAllStringSubmatch(string(text), -1)
	require.NotEmpty(t, lines)
	for _, line := range lines {
		_, stderr, code := spdl(t, strings.Fields(line[1])...)
		require.Zero(t, code, "%s\n%s", line[0], stderr)
	}
}

// TestPlanOfEpsilon: a plan has the rounds and the noise with which a chain of that epsilon begins, its forecast of a
// table says what the rate is worth, and where attackers hide in the noise it warns.
func TestPlanOfEpsilon(t *testing.T) {
	type plan struct {
		Rounds     int
		HiddenPush float64 `json:"hidden_push"`
		Accuracy   struct {
			Measured bool
			Table    *struct {
				Rate, Guess  float64
				KeptAttacked *struct{ AUC, Brier float64 } `json:"kept_attacked"`
			}
		}
		Warnings []string
	}
	of := func(args ...string) (p plan) {
		stdout, stderr, code := spdl(t, append([]string{"plan", "-o", "json"}, args...)...)
		require.Zero(t, code, stderr)
		require.NoError(t, json.Unmarshal([]byte(stdout), &p))
		return p
	}
	p := of("-n", "20", "--epsilon", "1")
	require.Equal(t, 8, p.Rounds)
	require.True(t, p.Accuracy.Measured)
	require.InDelta(t, 0.024, p.HiddenPush, 0.001)
	require.Len(t, p.Warnings, 1)
	require.Contains(t, p.Warnings[0], "f = 6 attackers that hide in the noise")
	require.Empty(t, of("-n", "20", "--epsilon", "4").Warnings)

	p = of("-n", "10", "--epsilon", "1", "--examples", "62", "--schema", "../../../testnet/experiment/tables/pima.json")
	require.NotNil(t, p.Accuracy.Table)
	require.Equal(t, []float64{0.35, 0.65}, []float64{p.Accuracy.Table.Rate, p.Accuracy.Table.Guess})
	require.NotNil(t, p.Accuracy.Table.KeptAttacked)
	require.Len(t, p.Warnings, 1)
	require.NotContains(t, p.Warnings[0], "fewer rounds", "a sum has the noise of all rounds once")

	churn := []string{"-n", "10", "--epsilon", "1", "--examples", "399", "--schema",
		"../../../testnet/experiment/tables/churn.json"}
	p = of(churn...)
	require.Len(t, p.Warnings, 1)
	require.Contains(t, p.Warnings[0], "one class is rare")
	p = of(append(churn, "--rounds", "1")...)
	require.Len(t, p.Warnings, 2)
	require.Contains(t, p.Warnings[1], "the training stops early")
}
