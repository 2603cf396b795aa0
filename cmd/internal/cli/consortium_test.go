package cli

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cometbft/cometbft/types"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/cmd/internal/cli/command"
)

// propose writes a proposal for members and returns its folder.
func propose(t *testing.T, members string, more ...string) string {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "ours")
	_, stderr, code := spdl(t, append([]string{"consortium", "new", folder, "--chain-id", "ours", "--members", members},
		more...)...)
	require.Zero(t, code, stderr)
	return folder
}

// joins makes a member's home and its entry.
func joins(t *testing.T, folder, name string, more ...string) (dir string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), name)
	args := append([]string{"consortium", "join", folder, "--name", name, "--home", dir}, more...)
	stdout, stderr, code := spdl(t, args...)
	require.Zero(t, code, stderr)
	requireNoSecret(t, dir, stdout)
	return dir
}

// founds makes the genesis of a consortium of one member, and returns it.
func founds(t *testing.T, more ...string) (g app.Genesis, stderr string) {
	t.Helper()
	folder := filepath.Join(t.TempDir(), "ours")
	_, stderr, code := spdl(t, append([]string{"consortium", "new", folder, "--chain-id", "ours", "--members", "a"},
		more...)...)
	require.Zero(t, code, stderr)
	dir := joins(t, folder, "a", "--address", "a.example:1")
	_, said, code := spdl(t, "consortium", "start", folder, "--home", dir)
	require.Zero(t, code, said)
	doc, err := types.GenesisDocFromFile(filepath.Join(dir, "config/genesis.json"))
	require.NoError(t, err)
	g, _, err = home.CheckGenesis(doc)
	require.NoError(t, err)
	return g, stderr
}

// TestConsortium: four members make one genesis by exchanging files, and no secret is in a file.
func TestConsortium(t *testing.T) {
	folder := propose(t, "a,b,c,dee", "--rounds", "7", "--deadline", "72h", "--preset", "default")
	var homes []string
	for i, name := range []string{"a", "b", "c"} {
		homes = append(homes, joins(t, folder, name, "--address", fmt.Sprintf("127.0.0.%d:27656", i+1), "--data", "embedded"))
	}
	start := func(dir string) (stdout, stderr string, code int) {
		return spdl(t, "consortium", "start", folder, "--home", dir)
	}
	_, stderr, code := start(homes[0])
	require.Equal(t, command.Failure, code)
	require.Contains(t, stderr, "entries of dee missing in "+folder+"; the deadline is in 7")
	homes = append(homes, joins(t, folder, "dee", "--worker-only", "--address", "dee.example:1"))

	steps := []string{"share", "proof"}
	for _, step := range steps {
		for _, dir := range homes {
			stdout, stderr, code := start(dir)
			require.Zero(t, code, stderr)
			require.NotContains(t, stderr, "warning: rule ")
			require.FileExists(t, filepath.Join(folder, filepath.Base(dir)+"."+step+".json"), stdout)
		}
	}
	var hashes []string
	for _, dir := range homes {
		stdout, stderr, code := spdl(t, "consortium", "start", folder, "--home", dir, "-o", "json")
		require.Zero(t, code, stderr)
		var made struct {
			SHA256 string
			Peers  []string
		}
		require.NoError(t, json.Unmarshal([]byte(stdout), &made))
		require.Len(t, made.Peers, 4)
		hashes = append(hashes, made.SHA256)
		_, stderr, code = spdl(t, "genesis", "validate", "--home", dir)
		require.Zero(t, code, stderr)
	}
	for _, hash := range hashes {
		require.Equal(t, hashes[0], hash)
	}
	files, err := filepath.Glob(filepath.Join(folder, "*"))
	require.NoError(t, err)
	require.Len(t, files, 1+3*4)
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		for _, dir := range homes {
			requireNoSecret(t, dir, string(text))
		}
	}
	doc, err := types.GenesisDocFromFile(filepath.Join(homes[1], "config/genesis.json"))
	require.NoError(t, err)
	g, _, err := home.CheckGenesis(doc)
	require.NoError(t, err)
	require.Len(t, doc.Validators, 3)
	require.Equal(t, uint64(7), g.Params.Training.Rounds)
	require.Equal(t, "dee", g.Participants[3].Moniker)
	require.Equal(t, "dee.example:1", g.Participants[3].Address)
	conf, a, err := home.Load(homes[1])
	require.NoError(t, err)
	require.Equal(t, "tcp://127.0.0.2:27656", conf.P2P.ListenAddress)
	require.True(t, conf.P2P.AllowDuplicateIP)
	require.Equal(t, home.EmbeddedData, a.Worker.Data)

	again := []string{"consortium", "join", propose(t, "b,x"), "--name", "b", "--address", "b.example:1",
		"--home", homes[1]}
	journal := home.Journals(conf, a)
	before, err := os.ReadFile(journal)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(journal, []byte(`{"chain_id":"ours","signed":1}`+"\n"), 0o600))
	_, stderr, code = spdl(t, again...)
	require.Equal(t, command.Failure, code)
	require.Contains(t, stderr, "has joined an earlier founding, and the journal "+journal+` has entries for chain "ours"`)
	require.NoError(t, os.WriteFile(journal, before, 0o600))
	_, stderr, code = spdl(t, append(again, "--again")...)
	require.Zero(t, code, stderr)
	require.Contains(t, stderr, "genesis.json of an earlier founding, whose chain has not begun here, is removed")
	require.NoFileExists(t, conf.GenesisFile())
}

// TestConsortiumJoinCorrects: a second run of join corrects address, data and name, in the entry and in the
// home, until a share is out.
func TestConsortiumJoinCorrects(t *testing.T) {
	folder := propose(t, "a,b")
	dir := joins(t, folder, "a", "--address", "127.0.0.1:27656")
	b := joins(t, folder, "b", "--address", "b.example:1")
	join := func(name string, more ...string) (stderr string, code int) {
		_, stderr, code = spdl(t, append([]string{"consortium", "join", folder, "--name", name, "--home", dir}, more...)...)
		return stderr, code
	}
	stderr, code := join("a", "--address", "a.example.org:26656", "--data", "embedded")
	require.Zero(t, code, stderr)
	c, a, err := home.Load(dir)
	require.NoError(t, err)
	require.Equal(t, "a.example.org:26656", c.P2P.ExternalAddress)
	require.Equal(t, "tcp://0.0.0.0:26656", c.P2P.ListenAddress)
	require.False(t, c.P2P.AllowDuplicateIP)
	require.Equal(t, home.EmbeddedData, a.Worker.Data)
	stdout, _, code := spdl(t, "consortium", "status", folder, "--offline", "-o", "json")
	require.Zero(t, code)
	require.Contains(t, stdout, "@a.example.org:26656")

	_, stderr, code = spdl(t, "consortium", "start", folder, "--home", b)
	require.Zero(t, code, stderr)
	stderr, code = join("a", "--address", "a2.example.org:26656")
	require.Equal(t, command.Failure, code)
	require.Contains(t, stderr, "the entry of a cannot change any more: the share of b")
	c, _, err = home.Load(dir)
	require.NoError(t, err)
	require.Equal(t, "a.example.org:26656", c.P2P.ExternalAddress, "the home stays as its entry")
	stderr, code = join("a", "--address", "a.example.org:26656", "--p2p-laddr", "tcp://10.0.0.1:26656")
	require.Zero(t, code, stderr)

	folder = propose(t, "a,b")
	dir = joins(t, folder, "a", "--address", "b.example.org:1")
	stderr, code = join("b", "--address", "b.example.org:1")
	require.Zero(t, code, stderr)
	require.NoFileExists(t, filepath.Join(folder, "a.entry.json"))
	require.FileExists(t, filepath.Join(folder, "b.entry.json"))
}

// contents returns the files below a folder, by path.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		files[path] = string(text)
		return err
	}))
	return files
}

// TestConsortiumJoinElsewhere: a founded home keeps its genesis, share and proof when it joins another
// founding by mistake, or with --again a founding in which its name is taken.
func TestConsortiumJoinElsewhere(t *testing.T) {
	ours := propose(t, "a")
	dir := joins(t, ours, "a", "--address", "a.example:1")
	start := func(folder string) (stderr string, code int) {
		_, stderr, code = spdl(t, "consortium", "start", folder, "--home", dir)
		return stderr, code
	}
	stderr, code := start(ours)
	require.Zero(t, code, stderr)
	theirs := propose(t, "a,b", "--deadline", "1s") // in a second after that of our proof, which a later proof has not
	founded := contents(t, dir)
	for _, file := range []string{"genesis.json", "founding/entry.json", "founding/share.json", "founding/proof.json"} {
		require.Contains(t, founded, filepath.Join(dir, "config", file))
	}
	join := func(folder string, more ...string) (stderr string, code int) {
		_, stderr, code = spdl(t, append([]string{"consortium", "join", folder, "--name", "a", "--home", dir}, more...)...)
		return stderr, code
	}
	address := []string{"--address", "a2.example:1", "--data", "embedded"}

	stderr, code = join(theirs, address...)
	require.Equal(t, command.Failure, code)
	require.Contains(t, stderr, "this home belongs to another founding: it has joined the proposal ")
	require.Contains(t, stderr, " in "+ours+", and "+theirs+" has ")
	require.Contains(t, stderr, "--again to leave the other founding")
	require.NoFileExists(t, filepath.Join(theirs, "a.entry.json"))
	require.Equal(t, founded, contents(t, dir))

	joins(t, theirs, "a", "--address", "other.example:1")
	taken := filepath.Join(theirs, "a.entry.json")
	for says, args := range map[string][]string{
		taken + " is not what this home made": append(address, "--again"),
		"p2p address to listen on":            append(address, "--again", "--p2p-laddr", "x"),
		"node_ids: \"x\"":                     append(address, "--again", "--nodes", "x"),
	} {
		stderr, code = join(theirs, args...)
		require.NotZero(t, code, says)
		require.Contains(t, stderr, says)
		require.Equal(t, founded, contents(t, dir), says)
	}
	stderr, code = start(ours)
	require.Zero(t, code, stderr)
	require.Equal(t, founded, contents(t, dir))

	fresh := filepath.Join(t.TempDir(), "fresh")
	_, stderr, code = spdl(t, "consortium", "join", theirs, "--name", "a", "--address", "a.example:1", "--home", fresh)
	require.Equal(t, command.Failure, code)
	require.Contains(t, stderr, taken+" is there already")
	require.NoDirExists(t, fresh)

	require.NoError(t, os.Remove(taken))
	require.Eventually(t, func() bool {
		said, code := join(theirs, append(address, "--again")...)
		return code == 0 && strings.Contains(said, "the deadline of the proposal has passed")
	}, time.Minute, 50*time.Millisecond)
	require.NoFileExists(t, filepath.Join(dir, "config/genesis.json"))
	stderr, code = start(ours)
	require.Equal(t, command.Failure, code)
	require.Contains(t, stderr, " in "+theirs+", and "+ours+" has ")
	stderr, code = join(ours, "--address", "a.example:1", "--again")
	require.Zero(t, code, stderr)
	stderr, code = start(ours)
	require.Equal(t, command.Failure, code)
	require.Contains(t, stderr, "a.proof.json is not what this home made")
	require.Contains(t, stderr, "take the genesis.json of another member")
}

// TestConsortiumStatus: what is missing of whom, and whose node does not answer, from the entry's
// address.
func TestConsortiumStatus(t *testing.T) {
	folder := propose(t, "a,b,c,d")
	joins(t, folder, "a", "--address", "127.0.0.1:1")
	joins(t, folder, "b", "--address", "b.invalid:26656")
	bad := filepath.Join(folder, "c.entry.json")
	require.NoError(t, os.WriteFile(bad, []byte(`{"power": 100}`), 0o600))
	var said struct {
		Waiting   string
		Standings []struct {
			Name            string
			Missing, Faults []string
			Answers         *bool
			Why             string
			ClockMs         *float64 `json:"clock_ms"`
		}
	}
	stdout, stderr, code := spdl(t, "consortium", "status", folder, "-o", "json", "--node", "127.0.0.1:2")
	require.Equal(t, command.Failure, code)
	require.Contains(t, stderr, "files that do not hold: c.entry.json of c")
	require.NoError(t, json.Unmarshal([]byte(stdout), &said))
	require.Contains(t, said.Waiting, "entries of c, d missing")
	a, b, c, d := said.Standings[0], said.Standings[1], said.Standings[2], said.Standings[3]
	require.False(t, *a.Answers)
	require.Equal(t, "does not answer: connection refused", a.Why)
	require.Nil(t, a.ClockMs)
	require.Equal(t, []string{"share", "proof"}, a.Missing)
	require.False(t, *b.Answers)
	require.Contains(t, b.Why, "has no address by DNS")
	require.Contains(t, c.Faults[0], `c.entry.json: json: unknown field "power"`)
	require.Contains(t, c.Faults[0], "ask its author to send it again")
	require.Equal(t, []string{"entry", "share", "proof"}, d.Missing)
	require.Nil(t, d.Answers)
	stdout, stderr, code = spdl(t, "consortium", "status", folder, "--offline")
	require.Equal(t, command.Failure, code)
	require.Contains(t, stderr, "files that do not hold: c.entry.json of c\n")
	require.Contains(t, stdout, "a: share, proof missing\n")
	require.Contains(t, stdout, "waiting   entries of c, d missing in "+folder)
}

// TestConsortiumSharedAddress: start and status name two members with one address, before a share is out.
func TestConsortiumSharedAddress(t *testing.T) {
	folder := propose(t, "a,b")
	dir := joins(t, folder, "a", "--address", "a.example:1")
	joins(t, folder, "b", "--address", "A.example:1")
	says := "b.entry.json: a and b both have the address a.example:1"
	_, stderr, code := spdl(t, "consortium", "start", folder, "--home", dir)
	require.Equal(t, command.Failure, code)
	require.Contains(t, stderr, says)
	require.NoFileExists(t, filepath.Join(folder, "a.share.json"))
	stdout, stderr, code := spdl(t, "consortium", "status", folder, "--offline")
	require.Equal(t, command.Failure, code)
	require.Contains(t, stderr, "files that do not hold: b.entry.json of b")
	require.Contains(t, stdout, says)
}

// TestConsortiumWithoutFaults: new says what a founding with f = 0 withstands.
func TestConsortiumWithoutFaults(t *testing.T) {
	for members, says := range map[string]string{"a,b,c": "four members withstand one", "a,b,c,d": "--byzantine 1"} {
		_, stderr, code := spdl(t, "consortium", "new", filepath.Join(t.TempDir(), "ours"), "--chain-id", "ours",
			"--members", members, "--byzantine", "0", "--rule", "mean")
		require.Zero(t, code, stderr)
		require.Contains(t, stderr, "f = 0: one faulty member can ruin the model")
		require.Contains(t, stderr, says)
	}
}

// TestConsortiumDoubt: new says the verdict of spdl plan where it is against the training, and proposes it.
func TestConsortiumDoubt(t *testing.T) {
	for epsilon, says := range map[string]bool{"0.02": true, "1": false} {
		_, stderr, code := spdl(t, "consortium", "new", filepath.Join(t.TempDir(), "ours"), "--chain-id", "ours",
			"--members", "a,b,c,d", "--preset", "default", "--examples", "5000", "--epsilon", epsilon)
		require.Zero(t, code, stderr)
		require.Equal(t, says, strings.Contains(stderr, "warning: spdl plan: not worth it: noise of 1.3 clip norms"), stderr)
	}
}

// TestConsortiumDeadlinePassed: status says that the deadline has passed, beside its time.
func TestConsortiumDeadlinePassed(t *testing.T) {
	folder := propose(t, "a", "--deadline", "1s")
	require.Eventually(t, func() bool {
		stdout, _, code := spdl(t, "consortium", "status", folder, "--offline")
		return code == 0 && strings.Contains(stdout, "Z (passed)\n")
	}, time.Minute, 50*time.Millisecond)
}

// TestConsortiumWrongUse: what cannot become a consortium is said before a file or a home is made.
func TestConsortiumWrongUse(t *testing.T) {
	folder := propose(t, "a,b")
	dir, a := filepath.Join(t.TempDir(), "home"), []string{"--name", "a", "--address", "a.example:1"}
	for says, args := range map[string][]string{
		`--name is "c", want one of the proposal's members: a, b`: {"--name", "c", "--address", "c.example:1"},
		`--address is "", want host:port`:                         {"--name", "a"},
		`--address is "a.example", want host:port`:                {"--name", "a", "--address", "a.example"},
		`--address: "0.0.0.0:26656" is every interface`:           {"--name", "a", "--address", "0.0.0.0:26656"},
		`--address: "[::]:26656" is every interface`:              {"--name", "a", "--address", "[::]:26656"},
		`--address is "a.example:99999", want host:port`:          {"--name", "a", "--address", "a.example:99999"},
		`p2p address to listen on "x"`:                            append(a, "--p2p-laddr", "x"),
		"/nonexistent":                                            append(a, "--data", "/nonexistent"),
	} {
		_, stderr, code := spdl(t, append([]string{"consortium", "join", folder, "--home", dir}, args...)...)
		require.NotZero(t, code, says)
		require.Contains(t, stderr, says)
		require.NoDirExists(t, dir)
	}
	solo := initHome(t, "solo")
	_, stderr, code := spdl(t, "consortium", "join", folder, "--name", "a", "--address", "a.example:1", "--home", solo)
	require.Equal(t, command.Failure, code)
	require.Contains(t, stderr, "exists already")

	for says, args := range map[string][]string{
		`member "a b"`:                  {"--members", "a b"},
		`member "../a"`:                 {"--members", "../a"},
		`member "a" is named twice`:     {"--members", "a,a"},
		"can count for 25 rounds":       {"--members", "a,b,c,d", "--epsilon", "1e-7", "--rounds", "25"},
		"--epsilon is -3":               {"--members", "a,b,c,d", "--epsilon", "-3"},
		"rule.tolerance is -1":          {"--members", "a,b,c,d", "--tolerance", "-1"},
		"which guarantees none":         {"--members", "a,b,c,d", "--preset", "paper", "--epsilon", "2"},
		"--byzantine is 1 with 1":       {"--members", "a", "--byzantine", "1"},
		"--params and --preset: one of": {"--members", "a", "--params", "x", "--preset", "pixels"},
		`--preset is "y", want one of`:  {"--members", "a", "--preset", "y"},
		`"nothing"`:                     {"--members", "a", "--rule", "nothing"},
	} {
		made := filepath.Join(t.TempDir(), "none")
		_, stderr, code := spdl(t, append([]string{"consortium", "new", made, "--chain-id", "ours"}, args...)...)
		require.Equal(t, command.WrongUse, code, stderr)
		require.Contains(t, stderr, says)
		require.NoDirExists(t, made)
	}
	_, stderr, code = spdl(t, "consortium", "new", folder, "--chain-id", "ours", "--members", "a")
	require.Equal(t, command.Failure, code)
	require.Contains(t, stderr, "proposal.json exists already")

	g, stderr := founds(t, "--preset", "paper-lemma1", "--rounds", "50")
	for _, warning := range []string{"rule.zeros", "rule.unsquared", "privacy.lemma1_epsilon is 0.02", "NO GUARANTEE"} {
		require.Contains(t, stderr, warning)
	}
	require.Equal(t, uint64(50), g.Params.Election.Term, "one leader for all rounds")
}

// TestConsortiumWithoutValidator: a chain needs one, and that is said before a share is out.
func TestConsortiumWithoutValidator(t *testing.T) {
	folder := propose(t, "a")
	dir := joins(t, folder, "a", "--worker-only")
	_, stderr, code := spdl(t, "consortium", "start", folder, "--home", dir)
	require.Equal(t, command.Failure, code)
	require.Contains(t, stderr, "a chain needs a validator")
	require.NoFileExists(t, filepath.Join(folder, "a.share.json"))
}

// TestConfigCommands: a key is shown and changed, and a misspelt one suggests another.
func TestConfigCommands(t *testing.T) {
	dir := initHome(t, "mine")
	stdout, stderr, code := spdl(t, "config", "set", "worker.data", "embedded", "--home", dir)
	require.Zero(t, code, stderr)
	require.Equal(t, "worker.data = embedded in app.toml (it was empty)\n"+
		"a node that runs takes worker.data at its next start\n", stdout)
	stdout, stderr, code = spdl(t, "config", "set", "p2p.members_only", "false", "--home", dir)
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "a node that runs reads p2p.members_only again within seconds\n")
	require.NotContains(t, stdout, "next start")
	stdout, _, _ = spdl(t, "config", "get", "worker.data", "--home", dir)
	require.Equal(t, "embedded\n", stdout)
	stdout, _, code = spdl(t, "config", "get", "--home", dir, "-o", "json")
	require.Zero(t, code)
	var all []home.Setting
	require.NoError(t, json.Unmarshal([]byte(stdout), &all))
	require.Greater(t, len(all), 100)
	_, stderr, code = spdl(t, "config", "set", "worker.dta", "embedded", "--home", dir)
	require.Equal(t, command.WrongUse, code)
	require.Contains(t, stderr, "did you mean worker.data?")
	t.Setenv("SPDL_WORKER_DATA", "elsewhere")
	stdout, _, _ = spdl(t, "config", "get", "worker.data", "--home", dir)
	require.Equal(t, "elsewhere\n", stdout, "what the node takes")
}

// spdlWith runs the program in a process of its own, with open files as its descriptors from 3 on.
func spdlWith(t *testing.T, files []string, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	cmd := process(t, args...)
	for _, path := range files {
		f, err := os.Open(path)
		require.NoError(t, err)
		defer f.Close()
		cmd.ExtraFiles = append(cmd.ExtraFiles, f)
	}
	var out, errs strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &errs
	_ = cmd.Run()
	return out.String(), errs.String(), cmd.ProcessState.ExitCode()
}

// TestBackupCommands: the passphrase comes from a file descriptor, and not from an argument.
func TestBackupCommands(t *testing.T) {
	dir := initHome(t, "mine")
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte("correct horse battery\n"), 0o600))
	run := func(args ...string) (string, string, int) { return spdlWith(t, []string{secret}, args...) }
	file, again := filepath.Join(t.TempDir(), "keys.age"), filepath.Join(t.TempDir(), "again")
	stdout, stderr, code := run("backup", "--home", dir, "--out", file, "--passphrase-fd", "3")
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "not taken  "+filepath.Join(dir, "data")+": a restored journal")
	requireNoSecret(t, dir, stdout)
	_, stderr, code = run("backup", "--home", dir, "--out", file, "--passphrase-fd", "3")
	require.Equal(t, command.Failure, code, stderr)
	_, stderr, code = run("backup", "--home", dir, "--out", filepath.Join(dir, "b"))
	require.Equal(t, command.WrongUse, code)
	require.Contains(t, stderr, "no terminal")
	require.NoFileExists(t, filepath.Join(dir, "b"))
	_, stderr, code = run("restore", file, "--home", dir, "--passphrase-fd", "3")
	require.Equal(t, command.Failure, code)
	require.Contains(t, stderr, "last signed height")
	stdout, stderr, code = run("restore", file, "--home", again, "--passphrase-fd", "3", "-o", "json")
	require.Zero(t, code, stderr)
	require.True(t, json.Valid([]byte(stdout)))
	_, stderr, code = spdl(t, "keys", "show", "--home", again)
	require.Zero(t, code, stderr)
}
