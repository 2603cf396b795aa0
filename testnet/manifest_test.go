package testnet

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/preset"
)

func TestManifestRoundTrip(t *testing.T) {
	want := Manifest{
		Validators: 7, Workers: 5, Preset: "mlp", Rounds: 12, Rule: "median", Tolerance: 3, Epsilon: 1.5, LearningRate: 2,
		StepDelay: 1500 * time.Millisecond, Patience: time.Minute, Port: 7000, ChainID: "c-h", Home: t.TempDir(),
		Data: `/D:\new "data"`, Seed: 1<<63 - 1,
		Partition: "dirichlet", Alpha: 0.25, Neighbours: 4, Gossip: "flood", Memory: true,
		Zones: []Zone{{"a", []int{0, 1, 2, 3}}, {"b", []int{4, 5, 6}}}, Routes: []Route{
			{Zones: []string{"a", "b"}, RoundTrip: 30 * time.Millisecond, Jitter: time.Millisecond, Rate: 9000}},
		Perturb: []Perturbation{
			{Node: 1, Round: 3, After: 250 * time.Millisecond, Action: Kill, For: 2 * time.Second},
			{Node: 6, Round: 9, Action: Pause, For: time.Minute},
			{Node: 2, Round: 9, Action: Disconnect, For: time.Second, Peers: []int{0, 3}, Way: Out},
			{Node: 2, Round: 20, Action: Slow, For: time.Second, Delay: 50 * time.Millisecond, Jitter: time.Millisecond,
				Loss: 0.05, Rate: 1000},
			{Node: 5, Round: 11, Action: Upgrade, For: time.Second, Binary: `./a "b"`, Heights: 40, Wrong: "c"},
		},
	}
	require.NoError(t, want.complete())
	require.NoError(t, want.save())
	got, err := LoadManifest(filepath.Join(want.Home, manifestFile))
	require.NoError(t, err)
	want.Home, want.GenesisTime = "", time.Time{}
	for i := range got.Perturb {
		require.Regexp(t, `^manifest .*, line \d+: $`, got.Perturb[i].place)
		got.Perturb[i].place = ""
	}
	require.Equal(t, want, got)
}

func TestManifestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "net.toml")
	require.NoError(t, os.WriteFile(path, []byte("validators = 4\n[[perturb]]\nnode = 2\nround = 10\naction = "+
		"\"kill\"\nfor = \"3s\"\n"), 0o600))
	m, err := LoadManifest(path)
	require.NoError(t, err)
	require.Equal(t, Manifest{Validators: 4, Perturb: []Perturbation{{Node: 2, Round: 10, Action: Kill,
		For: 3 * time.Second, place: "manifest " + path + ", line 2: "}}}, m)

	require.NoError(t, os.WriteFile(path, []byte("validatrs = 4\n"), 0o600))
	_, err = LoadManifest(path)
	require.ErrorContains(t, err, "validatrs")
	for _, none := range []string{"none.toml", "none", "none.net"} {
		_, err = LoadManifest(filepath.Join(t.TempDir(), none))
		require.ErrorIs(t, err, os.ErrNotExist, none)
	}
	path = filepath.Join(t.TempDir(), "net")
	require.NoError(t, os.WriteFile(path, []byte("validators = 7\n"), 0o600))
	m, err = LoadManifest(path)
	require.NoError(t, err, "a name says nothing")
	require.Equal(t, 7, m.Validators)
}

// TestManifestTrainer: parameters and trainer of a manifest's file are found beside it, wherever
// the net is made, and a trainer goes with an external model alone.
func TestManifestTrainer(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "net.toml")
	require.NoError(t, os.WriteFile(path, []byte("params = \"params.json\"\ntrainer = [\"python3\", \"a "+
		"\\\"b\\\".py\"]\n"), 0o600))
	m, err := LoadManifest(path)
	require.NoError(t, err)
	require.Equal(t, Manifest{Params: filepath.Join(dir, "params.json"), Trainer: []string{"python3", `a "b".py`},
		TrainerDir: dir}, m)
	m.Home = t.TempDir()
	require.NoError(t, m.complete())
	require.NoError(t, m.save())
	again, err := LoadManifest(filepath.Join(m.Home, manifestFile))
	require.NoError(t, err)
	again.Home, again.GenesisTime = m.Home, m.GenesisTime
	require.Equal(t, m, again)
	require.ErrorIs(t, m.Check(), os.ErrNotExist)

	m.Preset = "mlp"
	require.ErrorContains(t, m.Check(), `preset "mlp" and params`)
	m.Params = ""
	require.ErrorContains(t, m.Check(), `model.kind is "mlp" and trainer`)
}

func TestManifestDefaults(t *testing.T) {
	for n, neighbours := range map[int]int{0: 3, 1: 0, 4: 3, 10: 9, 11: 8, 20: 8, 30: 10, 100: 34} {
		m := Manifest{Validators: n, Home: "h"}
		require.NoError(t, m.complete(), "n=%d", n)
		require.Equal(t, neighbours, m.Neighbours, "n=%d", n)
	}
}

func TestManifestRefuses(t *testing.T) {
	for says, m := range map[string]Manifest{
		"101 validators, want 1 to 100":                    {Home: "h", Validators: 101},
		"-1 validators":                                    {Home: "h", Validators: -1},
		"1 neighbours of 4 validators, want 2 (f+1) to 3":  {Home: "h", Neighbours: 1},
		"4093 workers beside 4 validators, want 0 to 4092": {Home: "h", Workers: 4093},
		"4 neighbours of 4 validators":                     {Home: "h", Neighbours: 4},
		"step_delay is -1s, want 0 to 1h0m0s":              {Home: "h", StepDelay: -time.Second},
		"patience is 2h0m0s, want 0 to 1h0m0s":             {Home: "h", Patience: 2 * time.Hour},
		`gossip is "shout", want "announce" or "flood"`:    {Home: "h", Gossip: "shout"},
		"no home": {},
		"3 sites with 4 participants, want one each": {Home: "h", Sites: []string{"a", "b", "c"}},
		`sites and data "embedded": without a trainer data names the file that has the rows of all`: {Home: "h",
			Sites: []string{"a"}, Validators: 1, Data: "embedded"},
		"perturbation of node 4, want 0 to 3":            {Home: "h", Perturb: []Perturbation{{Node: 4, Action: Kill}}},
		"an upgrade needs a binary":                      {Home: "h", Perturb: []Perturbation{{Action: Upgrade}}},
		"the others take none of them":                   {Home: "h", Perturb: []Perturbation{{Action: Kill, Wrong: "b"}}},
		`perturbation "explode" of node 0`:               {Home: "h", Perturb: []Perturbation{{Action: "explode"}}},
		"want one of disconnect, disk-full, kill, pause": {Home: "h", Perturb: []Perturbation{{Action: "explode"}}},
		"and its peer 4, want another node of 0 to 3": {Home: "h",
			Perturb: []Perturbation{{Action: Disconnect, Peers: []int{1, 4}}}},
		"and its peer 0, want another": {Home: "h",
			Perturb: []Perturbation{{Action: Disconnect, Peers: []int{0}}}},
		`way "up" of a perturbation of node 0`: {Home: "h",
			Perturb: []Perturbation{{Action: Disconnect, Way: "up"}}},
		`"kill" of node 0 has peers [1]`: {Home: "h",
			Perturb: []Perturbation{{Action: Kill, Peers: []int{1}}}},
		`"kill" of node 0 is slow or lossy`: {Home: "h", Perturb: []Perturbation{{Action: Kill, Loss: 0.1}}},
		`"slow" of node 0 has no delay`:     {Home: "h", Perturb: []Perturbation{{Action: Slow}}},
		"node 0: loss is 1, want 0 to 0.9":  {Home: "h", Perturb: []Perturbation{{Action: Slow, Loss: 1}}},
		"perturbation of node 0 after -1s for 0s": {Home: "h",
			Perturb: []Perturbation{{Action: Kill, After: -time.Second}}},
	} {
		require.ErrorContains(t, m.complete(), says)
	}
}

// TestManifestErrorsHaveLines: an error about a manifest file says where it is.
func TestManifestErrorsHaveLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "net.toml")
	for says, text := range map[string]string{
		", line 2, column 10: incomplete number": "validators = 7\n" +
			"rounds = = 3\n",
		": decoding failed due to the following error(s): 'rounds' cannot parse value as 'uint64'": "validators = 7\n" +
			"rounds = \"x\"\n",
		": unknown key rundes (did you mean rounds?)": "validators = 7\n" +
			"rundes = 3\n",
		`, line 3: unknown rule: "krumm"`: "validators = 7\n" +
			"\nrule = \"krumm\"\n",
		", line 3: attack by node 9, want 0 to 6": "validators = 7\n" +
			"\n[[attack]]\nnode = 9\n",
		`, line 3: perturbation "explode" of node 0, want one of `: "validators = 7\n" +
			"\n[[perturb]]\naction = \"explode\"\n",
		`, line 2: perturbation "kill" of node 0 is of round 9 and would never come`: "rounds = 2\n[[perturb]]\n" +
			"round = 9\naction = \"kill\"\n",
	} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		m, err := LoadManifest(path)
		if err == nil {
			m.Home = t.TempDir()
			_, err = Init(m)
		}
		require.ErrorContains(t, err, "manifest "+path+says)
	}
	require.NoError(t, os.WriteFile(path, []byte("rule = \"medians\"\n"), 0o600))
	_, err := LoadManifest(path)
	require.ErrorContains(t, err, "(did you mean median?)")
	all, err := ParseAttacks([]string{"5=sign-flip", "6=aware+ipm"})
	require.NoError(t, err)
	require.Equal(t, []Attack{{Node: 5, Kind: "sign-flip"}, {Node: 6, Kind: "aware+ipm"}}, all)
	all, err = ParseAttacks([]string{"south=ipm", "0=zero", "7=silent"}, "north", "south", "7")
	require.NoError(t, err)
	require.Equal(t, []Attack{{Node: 1, Kind: "ipm"}, {Node: 0, Kind: "zero"}, {Node: 2, Kind: "silent"}}, all)
	for _, text := range []string{"sign-flip", "x=sign-flip", "", "north"} {
		_, err = ParseAttacks([]string{text}, "north")
		require.ErrorContains(t, err, `as 5=sign-flip, where a node is its number or north; kinds are commit-late, `)
	}
	_, err = ParseAttacks([]string{"5=signflip"})
	require.ErrorContains(t, err, `attack "signflip" (did you mean sign-flip?)`)
}

// TestInitOfNothing: what no net can be made of leaves nothing behind, so that
// the corrected manifest finds its homes free.
func TestInitOfNothing(t *testing.T) {
	home := t.TempDir()
	for says, m := range map[string]Manifest{
		`unknown preset "nothing"`: {Preset: "nothing"},
		"unknown rule":             {Rule: "nothing"},
		`unknown preset "pixel" (did you mean pixels?), want one of default, `: {Preset: "pixel"},
		"cannot aggregate":           {Rule: "krum", Validators: 2},
		`partition is "nothing"`:     {Partition: "nothing"},
		"alpha is -1":                {Alpha: -1},
		"alpha is NaN":               {Alpha: math.NaN()},
		"alpha is +Inf":              {Alpha: math.Inf(1), Partition: "dirichlet"},
		"has 51 bytes, want 1 to 50": {ChainID: strings.Repeat("c", 51)},
		"rule.tolerance is -1":       {Tolerance: -1},
		"want at most 13":            {Tolerance: 17},
		"without a clip norm":        {Tolerance: 1, Preset: "paper"},
		"training.rounds is 0":       {Adjust: func(p *params.Params) { p.Training.Rounds = 0 }},
		`attack "nothing" is not known: spdl-lab testnet start --help lists`: {Attacks: []Attack{{Kind: "nothing"}}},
		"want a seed": {Attacks: []Attack{{Kind: "hidden-margin"}}},
		"attack 1=hidden-margin: nodes that collude play one attack, and are the first nodes: want --attack " +
			"0=hidden-margin, or": {Seed: 1, Attacks: []Attack{{Node: 1, Kind: "hidden-margin"}}},
		"want --attack 0=hidden-margin,1=hidden-margin": {Seed: 1, Attacks: []Attack{{Kind: "aware+ipm"},
			{Node: 1, Kind: "hidden-margin"}}},
		"attack 0=ipm,0=ipm: ":   {Seed: 1, Attacks: []Attack{{Kind: "ipm"}, {Kind: "ipm"}}},
		"add --seed 1":           {Attacks: []Attack{{Node: 3, Kind: "silent"}, {Kind: "hidden-margin"}}},
		"one honest participant": {Seed: 1, Validators: 1, Attacks: []Attack{{Kind: "hidden-margin"}}},
	} {
		m.Home = home
		_, err := Init(m)
		require.ErrorContains(t, err, says)
		made, err := os.ReadDir(home)
		require.NoError(t, err)
		require.Empty(t, made, says)
	}
	_, err := Init(Manifest{Home: home})
	require.NoError(t, err)
}

// TestLiteralRounds: a manifest reaches the paper's own setting, and its one leader leads all of
// the rounds that the manifest asks for.
func TestLiteralRounds(t *testing.T) {
	for _, name := range []string{"paper-literal", "paper-lemma1"} {
		m := Manifest{Home: t.TempDir(), Preset: name, Rounds: 12}
		p, err := m.check()
		require.NoError(t, err)
		require.Equal(t, uint64(12), p.Election.Term)
		require.NoError(t, preset.CheckLedger(p))
	}
}

// TestMisbehaving: a node misbehaves where the manifest beside its home says so,
// and no other home does.
func TestMisbehaving(t *testing.T) {
	m := Manifest{Validators: 4, Memory: true, Home: filepath.Join(t.TempDir(), "net"),
		Attacks: []Attack{{Node: 2, Kind: "sign-flip"}}}
	_, err := Init(m)
	require.NoError(t, err)
	n, i, err := Misbehaving(filepath.Join(m.Home, "node2"))
	require.NoError(t, err)
	require.Equal(t, 2, i)
	require.Equal(t, "sign-flip", n.Manifest.Attacks[0].Kind)
	_, _, err = Misbehaving(filepath.Join(m.Home, "node1"))
	require.ErrorContains(t, err, "no attack")
	_, _, err = Misbehaving(filepath.Join(t.TempDir(), "alice"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

// TestManifestEpsilon: the budget of a manifest sets the noise, and pays for all rounds.
func TestManifestEpsilon(t *testing.T) {
	m := Manifest{Home: t.TempDir(), Epsilon: 1, Rounds: 40}
	p, err := m.check()
	require.NoError(t, err)
	require.Equal(t, 1.0, p.Privacy.Epsilon)
	require.GreaterOrEqual(t, p.Privacy.Participations(nil), uint64(40))
	plain := Manifest{Home: t.TempDir(), Rounds: 40}
	without, err := plain.check()
	require.NoError(t, err)
	require.Less(t, p.Training.LearningRate, without.Training.LearningRate, "more noise, smaller steps")
	none := Manifest{Home: t.TempDir(), Epsilon: 1, Preset: "paper"}
	_, err = none.check()
	require.ErrorContains(t, err, "guarantees none")
}

// TestRoundsSetNoise: of a study, as of a preset, other rounds keep the budget, and the noise is the least with which
// it pays for them.
func TestRoundsSetNoise(t *testing.T) {
	study, err := preset.Make("pixels", 4, preset.Own{Rounds: 30, Epsilon: 2})
	require.NoError(t, err)
	raw, err := json.Marshal(study)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "params.json")
	require.NoError(t, os.WriteFile(path, raw, 0o600))
	for rounds, compare := range map[uint64]func(require.TestingT, any, any, ...any){
		0: require.Equal, 30: require.Equal, 120: require.Greater, 5: require.Less,
	} {
		m := Manifest{Home: t.TempDir(), Params: path, Rounds: rounds}
		p, err := m.check()
		require.NoError(t, err)
		require.Equal(t, 2.0, p.Privacy.Epsilon, rounds)
		compare(t, p.Privacy.NoiseMultiplier, study.Privacy.NoiseMultiplier, rounds)
		require.Equal(t, p.Training.Rounds, p.Privacy.Participations(nil), "%d rounds: no more noise than they need", rounds)
	}
	m := Manifest{Home: t.TempDir(), Params: path, Rounds: 120, Epsilon: 1}
	p, err := m.check()
	require.NoError(t, err)
	require.Equal(t, 1.0, p.Privacy.Epsilon)
}
