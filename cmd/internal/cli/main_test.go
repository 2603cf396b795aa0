package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/cmd/internal/cli/command"
	"github.com/spdl/spdl/cmd/internal/cli/consortium"
	"github.com/spdl/spdl/cmd/internal/cli/lab"
	"github.com/spdl/spdl/internal/stage"
)

// asSPDL makes the test binary the program that it names, or with "1" the one that has the command, and so the nodes
// that it starts.
const asSPDL = "TEST_BINARY_IS_SPDL"

func TestMain(m *testing.M) {
	if program := os.Getenv(asSPDL); program != "" {
		run, named := map[string]func(context.Context, []string, io.Writer, io.Writer) int{"spdl": Main,
			"spdl-lab": lab.Main}[program]
		if !named {
			run = programOf(os.Args[1:])
		}
		command.Main(run)
	}
	for _, e := range os.Environ() { // not the settings of who runs the tests
		if name, _, _ := strings.Cut(e, "="); name == stage.Variable {
			continue // but which tests they want
		} else if strings.HasPrefix(name, "SPDL_") || strings.HasPrefix(name, "CMT_") {
			_ = os.Unsetenv(name)
		}
	}
	_ = os.Setenv("HOME", os.TempDir()) // nor their home
	_ = os.Setenv(asSPDL, "1")          // for the nodes that a localnet starts
	os.Exit(m.Run())
}

// process prepares a run of spdl.
func process(t *testing.T, args ...string) *exec.Cmd {
	t.Helper()
	binary, err := os.Executable()
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	t.Cleanup(cancel)
	cmd := exec.CommandContext(ctx, binary, args...)
	cmd.Env = append(os.Environ(), "TMPDIR="+t.TempDir())
	return cmd
}

// spdl runs a command line in this process, to the end: of spdl-lab if it begins with one of
// its commands, otherwise of spdl. Commands that start processes start the test binary, which is
// spdl itself.
func spdl(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	var out, errs bytes.Buffer
	code = programOf(args)(ctx, args, &out, &errs)
	return out.String(), errs.String(), code
}

// programOf returns the main function of spdl-lab if one of its commands is among the arguments, otherwise that of
// spdl.
func programOf(args []string) func(context.Context, []string, io.Writer, io.Writer) int {
	if slices.ContainsFunc(args, func(a string) bool { return slices.Contains(labCommands, a) }) {
		return lab.Main
	}
	return Main
}

// labCommands are the commands of spdl-lab that spdl does not have.
var labCommands = []string{"experiment", "rehearse", "report", "testnet"}

// manifestFile writes a manifest.
func manifestFile(t *testing.T, content string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "net.toml")
	require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

func TestExitCodes(t *testing.T) {
	empty := t.TempDir()
	preset := manifestFile(t, `preset = "nothing"`)
	attack := manifestFile(t, "[[attack]]\nkind = \"nothing\"")
	made := initHome(t, "mine")
	file := manifestFile(t, "text\n")
	perturb := manifestFile(t, "[[perturb]]\naction = \"kill\"")
	for _, c := range []struct {
		args string
		code int
		says string
	}{
		{"version", 0, ""},
		{"--help", 0, ""},
		{"completion bash", 0, ""},
		{"completion zsh", 0, ""},
		{"explode", 2, "explode"},
		{"query explode", 2, "explode"},
		{"version --explode", 2, "explode"},
		{"version extra", 2, `"extra" is given to "spdl version", which takes flags alone`},
		{"plan --epsilon abc", 2, `--epsilon is "abc", want a number`},
		{"testnet start --rounds -3", 2, `--rounds is "-3", want a whole number above 0`},
		{"query status --watch --interval abc", 2, `--interval is "abc", want a duration`},
		{"query status --node tcp://127.0.0.1:99999", 2, "want tcp://host:port, http://host:port or https://host, with a " +
			"port from 1 to 65535"},
		{"version --output yaml", 2, `--output is "yaml"`},
		{"query round x", 2, `round "x" is no number`},
		{"query round -12", 2, "-12 is no flag, and no number here is below 0"},
		{"query round 1 2 3", 2, "at most 2"},
		{"query round x 2", 2, `epoch "x" is no number`},
		{"query round 0/x", 2, `round "x" is no number`},
		{"query round 0/1/2", 2, `"0/1/2" is no round, want ROUND, EPOCH ROUND or EPOCH/ROUND`},
		{"model export --round 0/1/2", 2, `"0/1/2" is no round`},
		{"query block 12", 2, `the node's RPC has it as JSON, as curl http://127.0.0.1:26657/block?height=12`},
		{"config validate", 2, `spdl doctor does, check configuration`},
		{"query model x", 2, `round "x" is no number`},
		{"query election 1 x", 2, `round "x" is no number`},
		{"query membership --node tcp://127.0.0.1:1", 3, "no node answers"},
		{"explorer --rate 0", 2, "api.rate is 0"},
		{"explorer --laddr tcp://127.0.0.1:99999", 2, `explorer.laddr is "tcp://127.0.0.1:99999"`},
		{"completion bash extra", 2, "extra"},
		{"completion explode", 2, "explode"},
		{"completion", 0, ""},
		{"help query round", 0, ""},
		{"help explode", 2, "explode"},
		{"help query explode", 2, "explode"},
		{"verify participant x", 2, `participant "x" is no index`},
		{"verify round x", 2, `round "x" is no number`},
		{"model export --round x", 2, `round "x" is no number`},
		{"model export --timeout 0s", 2, "--timeout is 0s"},
		{"tx leave --timeout -1s", 2, "--timeout is -1s"},
		{"tx evidence a b --timeout 0s", 2, "--timeout is 0s"},
		{"tx start-epoch --preset nothing", 2, `--preset is "nothing", want one of`},
		{"tx start-epoch --preset mlp --params p.json", 2, "one of them"},
		{"tx start-epoch --rounds 0", 2, "--rounds is 0"},
		{"tx start-epoch --byzantine -2", 2, "--byzantine is -2"},
		{"init --home " + empty + "/home " + strings.Repeat("m", 71), 2, "71 bytes, at most 70"},
		{"init --home " + empty + "/home --chain-id " + strings.Repeat("c", 51), 2, "51 bytes, want 1 to 50"},
		{"consortium new " + empty + " --members a --chain-id " + strings.Repeat("c", 51), 2, "51 bytes, want 1 to 50"},
		{"tx explode", 2, "explode"},
		{"tx approve", 2, "accepts 1 arg"},
		{"tx leave --home " + empty, 1, "spdl init makes a home"},
		{"tx evidence one", 2, "accepts 2 arg"},
		{"tx evidence " + empty + "/one " + empty + "/two", 1, "one"},
		{"keys show --home " + empty, 1, "spdl init makes a home"},
		{"keys new " + empty, 1, "exists already"},
		{"consortium new", 2, "accepts 1 arg"},
		{"consortium new " + empty + " --members a --chain-id id!", 2, `chain id "id!"`},
		{"query foo --help", 2, `unknown command "foo" for "spdl query"`},
		{"submit --help", 2, `unknown command "submit" for "spdl"`},
		{"consortium new " + empty, 2, "--chain-id and --members are needed"},
		{"consortium new " + empty + " --chain-id c --members a --deadline soon", 2, `--deadline is "soon", want a duration`},
		{"consortium new " + empty + " --chain-id c --members a --deadline -1h", 2, "above 0"},
		{"consortium join " + empty + " --name a", 1, "spdl consortium new makes it"},
		{"consortium start " + empty + " --home " + empty, 1, "spdl init makes a home"},
		{"consortium status " + empty, 1, "proposal.json"},
		{"config get nothing --home " + empty, 1, "spdl init makes a home"},
		{"config set worker.parts x", 2, "want a whole number"},
		{"config set worker.data x --home " + empty, 1, "spdl init makes a home"},
		{"backup --home " + empty, 2, "--out is needed"},
		{"backup --out " + file + " --home " + made, 1,
			file + " exists already, and nothing is overwritten: name another file"},
		{"backup --out " + empty + "/b --home " + empty, 1, "spdl init makes a home"},
		{"model export --node 127.0.0.1:1 --out " + empty + "/none/m.npz", 1, "there is no folder " + empty + "/none"},
		{"restore " + empty + "/none", 1, "there is no file " + empty + "/none"},
		{"restore " + empty + "/none --passphrase-fd x", 2, "want a whole number"},
		{"query status --node http://%zz", 2, "invalid URL"},
		{"query status --node foo", 2, `node address "foo"`},
		{"status --node 127.0.0.1:1", 3, "no node answers"},
		{"query status --participants --node http://foo", 2, `"http://foo"`},
		{"explorer --node foo", 2, `"foo"`},
		{"worker --node foo --home " + empty, 2, `"foo"`},
		{"audit replay --node foo", 2, `"foo"`},
		{"tx evidence a b --node foo", 2, `"foo"`},
		{"tx leave --node foo --home " + empty, 2, `"foo"`},
		{"testnet start --preset defualt", 2, `--preset is "defualt" (did you mean default?)`},
		{"testnet start --rule nothing", 2, "nothing"},
		{"testnet start --validators -1", 2, "--validators is -1, want above 0"},
		{"testnet start --validators 101", 2, "101 validators"},
		{"testnet start --partition nothing", 2, `partition is "nothing"`},
		{"testnet start --alpha -1", 2, "alpha is -1"},
		{"testnet start --neighbours 9", 2, "9 neighbours of 4 validators"},
		{"testnet start --validators 0", 2, "--validators is 0"},
		{"testnet start --rounds 0", 2, "--rounds is 0"},
		{"testnet init --alpha 0 --partition dirichlet --home " + empty + "/net", 2, "--alpha is 0"},
		{"testnet init --data /nonexistent --home " + empty + "/net", 1, "/nonexistent"},
		{"testnet start --manifest " + preset, 2, `unknown preset "nothing"`},
		{"testnet start --manifest " + attack, 2, `attack "nothing"`},
		{"testnet start --manifest " + perturb + " --inprocess", 2, "cannot be killed"},
		{"testnet start --validators 0x", 2, "validators"},
		{"testnet start --manifest nothing.toml", 1, "there is no file nothing.toml"},
		{"testnet start --manifest " + empty + "/nothing", 1, "there is no file " + empty + "/nothing"},
		{"testnet start --data " + empty + "/nothing.csv --label x", 1, "there is no file " + empty + "/nothing.csv"},
		{"frobnicate", 2, "spdl --help lists them"},
		{"--version", 0, ""},
		{"q", 0, ""},
		{"start testnet", 2, `"testnet" is given to "spdl-lab start", which takes flags alone`},
		{"genesis status", 2, `unknown command "status" for "spdl genesis" (it has `},
		{"report " + made + " " + empty + "/none --out " + empty + "/x.html", 1, "there is no folder " + empty + "/none"},
		{"query blok", 2, `"spdl query" (it has status, round, neighbours, model, participants, `},
		{"localnet start --validators 4", 2, "localnets are in the program spdl-lab: spdl-lab testnet"},
		{"signer int", 2, "did you mean init?"},
		{"rules --json", 2, "unknown flag: --json: see spdl rules --help"},
		{"query stauts --node 127.0.0.1:1", 2, `unknown command "stauts" for "spdl query" (did you mean status?)`},
		{"start --home " + file, 2, file + " is a file, want a folder"},
		{"init --home " + file, 1, file + " is a file, want a folder"},
		{"genesis validate " + empty, 1, empty + " is a folder, want a file"},
		{"testnet start --params " + file, 2, file},
		{"tx evidence " + file + " " + file, 1, "is no transaction"},
		{"tx approve 123 --home " + empty, 2, "want 8 to 64 hex digits"},
		{"tx withdraw 123 --home " + empty, 2, "want 8 to 64 hex digits"},
		{"keys new " + file, 1, "name another file"},
		{"plan --epsilon 1 --validators 0", 2, "--validators is 0, want above 0"},
		{"rules 20", 2, "takes flags alone"},
		{"start --home " + empty, 1, "spdl init makes a home"},
		{"start --log-level nothing --home " + empty, 2, `log level "nothing", want debug, info, warn, error or none`},
		{"worker --log-level nothing --home " + empty, 2, `log level "nothing"`},
		{"worker --home " + empty, 1, "spdl init makes a home"},
		{"show-node-id --home " + empty, 1, "spdl init makes a home"},
		{"genesis validate " + empty + "/none.json", 1, "none.json"},
		{"query status --node tcp://127.0.0.1:1", 3, "no node answers"},
		{"query model --node tcp://127.0.0.1:1", 3, "no node answers"},
		{"status --node tcp://127.0.0.1:1", 3, "no node answers"},
		{"query status --participants --node tcp://127.0.0.1:1", 3, "no node answers"},
		{"query status --watch --interval 1ms", 2, "at least 100ms"},
		{"audit explode", 2, "explode"},
		{"audit archive", 2, "--out is needed"},
		{"audit archive --out " + empty + "/a --node tcp://127.0.0.1:1", 3, "no node answers"},
		{"audit replay --node tcp://127.0.0.1:1", 3, "no node answers"},
		{"audit replay " + empty + "/none", 1, "there is no file " + empty + "/none"},
		{"audit replay " + empty + "/no/none", 1, "spdl: there is no folder " + empty + "/no"},
		{"plan --data nope.csv --label x --epsilon 1", 1, "spdl: there is no file nope.csv"},
		{"audit replay " + empty + "/none --node tcp://127.0.0.1:1", 2, "one of them"},
		{"audit replay --home " + empty, 1, "spdl init makes a home"},
	} {
		stdout, stderr, code := spdl(t, strings.Fields(c.args)...)
		require.Equal(t, c.code, code, "spdl %s: %s", c.args, stderr)
		require.Contains(t, stderr, c.says, "spdl %s", c.args)
		if code != 0 {
			require.Empty(t, stdout, "spdl %s: data goes to stdout, faults do not", c.args)
			if !strings.Contains(c.args, "--output") {
				requireErrorInJSON(t, "-o json "+c.args, c.code)
			}
		} else {
			require.NotEmpty(t, stdout, "spdl %s", c.args)
		}
	}
}

// TestInitCannotWrite: a home that cannot be made is one line, and no trace.
func TestInitCannotWrite(t *testing.T) {
	file := filepath.Join(t.TempDir(), "file")
	require.NoError(t, os.WriteFile(file, nil, 0o600))
	stdout, stderr, code := spdl(t, "init", "--home", filepath.Join(file, "home"))
	require.Equal(t, command.Failure, code, stderr)
	require.Empty(t, stdout)
	require.Equal(t, 1, strings.Count(stderr, "\n"), stderr)
	require.Contains(t, stderr, file)
}

func TestInitAndLook(t *testing.T) {
	home := filepath.Join(t.TempDir(), "home")
	stdout, stderr, code := spdl(t, "init", "mine", "--home", home, "--chain-id", "c1", "-o", "json")
	require.Zero(t, code, stderr)
	var made struct {
		ChainID string `json:"chain_id"`
		NodeID  string `json:"node_id"`
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &made))
	require.Equal(t, "c1", made.ChainID)

	_, stderr, code = spdl(t, "init", "--home", home)
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "exists already")

	unmade := filepath.Join(t.TempDir(), "unmade")
	_, stderr, code = spdl(t, "init", "--home", unmade, "--chain-id", strings.Repeat("c", 51))
	require.Equal(t, command.WrongUse, code, stderr)
	require.NoDirExists(t, unmade)
	_, stderr, code = spdl(t, "init", `a "b"`, "--home", filepath.Join(t.TempDir(), "quoted"))
	require.Equal(t, 2, code)
	require.Contains(t, stderr, "config.toml")

	stdout, _, code = spdl(t, "show-node-id", "--home", home)
	require.Zero(t, code)
	require.Equal(t, made.NodeID, strings.TrimSpace(stdout))
	stdout, _, code = spdl(t, "show-validator", "--home", home)
	require.Zero(t, code)
	require.Contains(t, stdout, "tendermint/PubKeyEd25519")

	stdout, stderr, code = spdl(t, "genesis", "validate", "--home", home)
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "is valid")
	require.NotContains(t, stdout, "spdl plan")

	file := filepath.Join(home, "config/genesis.json")
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	few := filepath.Join(t.TempDir(), "few.json")
	noisy := regexp.MustCompile(`"batch": ?\d+`).ReplaceAll(data, []byte(`"batch": 50`))
	noisy = regexp.MustCompile(`"step": ?[-+.e0-9]+`).ReplaceAll(noisy, []byte(`"step": 0.02`))
	require.NoError(t, os.WriteFile(few, noisy, 0o600))
	stdout, stderr, code = spdl(t, "genesis", "validate", few)
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "warning: spdl plan: not worth it: noise of ")
	bad := filepath.Join(t.TempDir(), "bad.json")
	require.NoError(t, os.WriteFile(bad, bytes.Replace(data, []byte(`"rounds"`), []byte(`"rownds"`), 1), 0o600))
	stdout, stderr, code = spdl(t, "genesis", "validate", bad, "-o", "json")
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "rownds")
	_, stderr, code = spdl(t, "genesis", "validate", manifestFile(t, "text"))
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "it is no JSON, as a genesis is")
	var v consortium.Verdict
	require.NoError(t, json.Unmarshal([]byte(stdout), &v))
	require.False(t, v.Valid)

	_, _, code = spdl(t, "unsafe-reset-all", "--home", home)
	require.Equal(t, 2, code)
	_, stderr, code = spdl(t, "unsafe-reset-all", "--home", home, "--yes")
	require.Zero(t, code, stderr)
}
