package cli

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/cmd/internal/cli/command"
	"github.com/spdl/spdl/cmd/internal/cli/lab"
)

// TestEveryFlagIsDeclared: with command.Flag, which reads the environment, knows values and checks
// them, and with a help text that no point ends.
func TestEveryFlagIsDeclared(t *testing.T) {
	leaves, flags := 0, 0
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
		if cmd.HasSubCommands() || cmd.Name() == "help" || cmd.Parent().Name() == "completion" {
			return
		}
		leaves++
		require.NotNil(t, cmd.PreRunE, cmd.CommandPath())
		cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
			flags++
			require.IsType(t, &command.Option{}, f.Value, "%s --%s", cmd.CommandPath(), f.Name)
			require.Regexp(t, `[^.]$`, f.Usage, "%s --%s", cmd.CommandPath(), f.Name)
		})
	}
	walk(Root(io.Discard, io.Discard))
	walk(lab.Root(io.Discard, io.Discard))
	require.Greater(t, leaves, 40)
	require.Greater(t, flags, 150)
}

// TestStrayVariable: each command names a variable that looks like one of this program and is none, once, with the
// nearest name, and goes on.
func TestStrayVariable(t *testing.T) {
	t.Setenv("SPDL_WORKER_ENABLD", "false")
	t.Setenv("SPDL_TEST_LONG", "1")
	t.Setenv("SPDL_NODE", "tcp://127.0.0.1:1")
	for _, args := range [][]string{{"version"}, {"config", "get", "--home", initHome(t, "mine")}} {
		_, stderr, code := spdl(t, args...)
		require.Zero(t, code, stderr)
		require.Equal(t, "warning: the environment variable SPDL_WORKER_ENABLD has no effect: no key and no flag has this "+
			"name (did you mean SPDL_WORKER_ENABLED?)\n", stderr)
	}
}

// TestStrayFlag: a command that runs a home names a variable that is another command's flag and looks like a key.
func TestStrayFlag(t *testing.T) {
	t.Setenv("SPDL_P2P_LADDR", "tcp://127.0.0.1:0")
	_, stderr, code := spdl(t, "start", "--home", filepath.Join(t.TempDir(), "none"))
	require.NotZero(t, code)
	require.Contains(t, stderr, "warning: the environment variable SPDL_P2P_LADDR has no effect here")
	_, stderr, code = spdl(t, "version")
	require.Zero(t, code)
	require.Empty(t, stderr)
}

// TestEnvironment: SPDL_NAME is --name, and a value of the wrong type is wrong use.
func TestEnvironment(t *testing.T) {
	t.Setenv("SPDL_OUTPUT", "json")
	t.Setenv("SPDL_VALIDATORS", "7")
	stdout, stderr, code := spdl(t, "rules")
	require.Zero(t, code, stderr)
	require.True(t, json.Valid([]byte(stdout)))
	require.Contains(t, stdout, "N = 7 in N'")
	t.Setenv("SPDL_VALIDATORS", "seven")
	_, stderr, code = spdl(t, "rules")
	require.Equal(t, command.WrongUse, code)
	require.Contains(t, stderr, `SPDL_VALIDATORS is \"seven\", want a whole number`)
}

// TestWrongConfiguration: what a home's configuration cannot have is wrong use, as the same flag's
// wrong value is, wherever it comes from.
func TestWrongConfiguration(t *testing.T) {
	dir := t.TempDir()
	_, err := home.Init(dir, home.DefaultConfig(), home.DefaultAppConfig())
	require.NoError(t, err)
	for name, value := range map[string]string{
		"SPDL_WORKER_ENABLED": "maybe", "SPDL_WORKER_PARTS": "0", "SPDL_EXPLORER_ENABLED": "2", "CMT_LOG_LEVEL": "loud",
	} {
		t.Run(name, func(t *testing.T) {
			t.Setenv(name, value)
			_, stderr, code := spdl(t, "start", "--home", dir)
			require.Equal(t, command.WrongUse, code, stderr)
			require.Contains(t, stderr, value)
		})
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "config", "app.toml"), []byte("[worker\n"), 0o600))
	_, stderr, code := spdl(t, "start", "--home", dir)
	require.Equal(t, command.WrongUse, code, stderr)
}

// TestEmptyFlag: an empty value, as of a variable that is not set, does not mean the default.
func TestEmptyFlag(t *testing.T) {
	for _, args := range [][]string{{"query", "status", "--node", ""}, {"audit", "replay", "--genesis="},
		{"keys", "show", "--home", ""}} {
		_, stderr, code := spdl(t, args...)
		require.Equal(t, command.WrongUse, code, stderr)
		require.Contains(t, stderr, "is empty: leave it out for its default")
	}
}

// TestErrorsInJSON: with -o json an error is one object on standard error, wherever
// on the command line the fault is.
func TestErrorsInJSON(t *testing.T) {
	for args, exit := range map[string]int{
		"explode -o json":                             2,
		"-o json query round x":                       2,
		"query status --bogus --output=json":          2,
		"query status -ojson --node 127.0.0.1:1":      3,
		"keys new /nonexistent/file -o json":          1,
		"plan --epsilon 1 --rule krumm -o json":       2,
		"start --home /nonexistent --output json":     1,
		"rules --validators x -o json":                2,
		"query membership extra arguments -o json":    2,
		"testnet start --partition nothing -o json":   2,
		"experiment reputatoin -o json":               2,
		"verify participant --trust-height x -o json": 2,
	} {
		requireErrorInJSON(t, args, exit)
	}
}

func requireErrorInJSON(t *testing.T, args string, exit int) {
	t.Helper()
	stdout, stderr, code := spdl(t, strings.Fields(args)...)
	require.Equal(t, exit, code, args)
	require.Empty(t, stdout, args)
	var said struct {
		Error string
		Exit  int
	}
	require.NoError(t, json.Unmarshal([]byte(stderr), &said), "%s: %s", args, stderr)
	require.Equal(t, exit, said.Exit, args)
	require.NotEmpty(t, said.Error, args)
}

func TestDidYouMean(t *testing.T) {
	for args, meant := range map[string]string{
		"quary":               "query",
		"query membrship":     "membership",
		"help query epoch":    "epochs",
		"testnet strat":       "start",
		"rules --validatrs 4": "--validators",
	} {
		_, stderr, code := spdl(t, strings.Fields(args)...)
		require.Equal(t, command.WrongUse, code, args)
		require.Regexp(t, "did you mean (.* or )?"+meant, stderr, args)
	}
}

// TestKnownValues: an error about a value names the one that it may stand for.
func TestKnownValues(t *testing.T) {
	for args, known := range map[string]string{
		"plan --epsilon 1 --rule krumm":                 "krum",
		"plan --preset defualt":                         "default",
		"testnet init --rule medain --home /none":       "median",
		"testnet init --partition dirichelt --home /no": "dirichlet",
		"tx start-epoch --preset mpl":                   "mlp",
		"experiment reputatoin":                         "reputation",
		"experiment attacks --attacks sign-flop":        "sign-flip",
		"model export --format safetensor":              "safetensors",
		"version -o jsno":                               "json",
	} {
		_, stderr, code := spdl(t, strings.Fields(args)...)
		require.Equal(t, command.WrongUse, code, args)
		require.Regexp(t, "did you mean (.* or )?"+known, stderr, args)
	}
}

func TestCompletion(t *testing.T) {
	for args, offered := range map[string]string{
		"plan --rule kr":                     "krum\n",
		"testnet start --preset ":            "mlp\n",
		"testnet start --partition ":         "dirichlet\n",
		"experiment reput":                   "reputation\n",
		"experiment attacks --rules mean,kr": "mean,krum\n",
		"query status -o ":                   "json\n",
		"model export --format ":             "npz\n",
		"consortium new --rule ":             "median\n",
		"config set worker.da":               "worker.data\n",
	} {
		stdout, _, code := spdl(t, append([]string{"__complete"}, strings.Split(args, " ")...)...)
		require.Zero(t, code, args)
		require.Contains(t, stdout, offered, args)
	}
}

// TestHomeSaysWhichNode: a command asks the node of its home, unless --node says
// another, and says so where nobody answers.
func TestHomeSaysWhichNode(t *testing.T) {
	dir := initHome(t, "mine")
	file := filepath.Join(dir, "config/config.toml")
	config, err := os.ReadFile(file)
	require.NoError(t, err)
	at := func(laddr string) {
		changed := strings.Replace(string(config), `laddr = "`+"tcp://127.0.0.1:26657"+`"`, `laddr = "`+laddr+`"`, 1)
		require.Contains(t, changed, laddr)
		require.NoError(t, os.WriteFile(file, []byte(changed), 0o600))
	}
	at("tcp://0.0.0.0:1")
	for _, args := range []string{"query status", "status", "query status --watch", "tx leave", "model export",
		"verify round --trust-height 1 --trust-hash " + strings.Repeat("ab", 32)} {
		_, stderr, code := spdl(t, append(strings.Fields(args), "--home", dir)...)
		require.Equal(t, command.Unreachable, code, "%s: %s", args, stderr)
		require.Contains(t, stderr, "tcp://127.0.0.1:1 is where the node of "+dir+" listens", args)
	}
	_, stderr, code := spdl(t, "query", "status", "--home", dir, "--node", "127.0.0.1:2")
	require.Equal(t, command.Unreachable, code)
	require.Contains(t, stderr, "--node is 127.0.0.1:2; the node of "+dir+" is at tcp://127.0.0.1:1")
	_, stderr, code = spdl(t, "query", "status", "--home", filepath.Join(dir, "none"))
	require.Equal(t, command.Failure, code)
	require.Contains(t, stderr, "spdl init makes a home")
	at("")
	_, stderr, code = spdl(t, "query", "status", "--home", dir)
	require.Equal(t, command.Failure, code)
	require.Contains(t, stderr, "rpc.laddr is empty")
	_, err = client.New("127.0.0.1:31001")
	require.NoError(t, err)
}

// TestResetSaysWhatIsLost: without --yes nothing is removed, and the files are named.
func TestResetSaysWhatIsLost(t *testing.T) {
	dir := initHome(t, "mine")
	_, stderr, code := spdl(t, "unsafe-reset-all", "--home", dir)
	require.Equal(t, command.WrongUse, code)
	for _, named := range []string{"data", "priv_validator_state.json", "worker_journal.json", "priv_validator_key.json",
		"participant_key.json", "Restoring", "--yes"} {
		require.Contains(t, stderr, named)
	}
	require.FileExists(t, filepath.Join(dir, "data/priv_validator_state.json"))
	stdout, stderr, code := spdl(t, "unsafe-reset-all", "--home", dir, "--yes", "-o", "json")
	require.Zero(t, code, stderr)
	require.True(t, json.Valid([]byte(stdout)))
	require.FileExists(t, filepath.Join(dir, "config/participant_key.json"))
}

// TestResetState: without --yes nothing is removed, and the files are named; with it, the validator's
// last signature and the journal stay. The only validator's home wants --last-copy too.
func TestResetState(t *testing.T) {
	dir := initHome(t, "mine")
	block := filepath.Join(dir, "data/blockstore.db/x")
	require.NoError(t, os.MkdirAll(filepath.Dir(block), 0o700))
	require.NoError(t, os.WriteFile(block, nil, 0o600))
	_, stderr, code := spdl(t, "reset-state", "--home", dir)
	require.Equal(t, command.WrongUse, code)
	require.Regexp(t, `removes .*\*\.db.*; it keeps .*priv_validator_state\.json.*worker_journal\.json.* --yes`, stderr)
	_, stderr, code = spdl(t, "reset-state", "--home", dir, "--yes")
	require.Equal(t, command.WrongUse, code)
	require.Contains(t, stderr, "The chain has one validator")
	require.FileExists(t, block)
	genesis := filepath.Join(dir, "config/genesis.json")
	require.NoError(t, os.Rename(genesis, genesis+".away"))
	_, stderr, _ = spdl(t, "reset-state", "--home", dir)
	require.Contains(t, stderr, "Whether another validator has the blocks is not known")
	require.NoError(t, os.Rename(genesis+".away", genesis))
	stdout, stderr, code := spdl(t, "reset-state", "--home", dir, "--yes", "--last-copy")
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, filepath.Join(dir, "data/*.db"))
	require.NoFileExists(t, block)
	require.FileExists(t, filepath.Join(dir, "data/priv_validator_state.json"))
	require.FileExists(t, filepath.Join(dir, "data/worker_journal.json"))
}

// TestFolderOfHomes: spdl doctor examines each home in the folder of a localnet; another command names them.
func TestFolderOfHomes(t *testing.T) {
	net := filepath.Join(t.TempDir(), "net")
	_, stderr, code := spdl(t, "testnet", "init", "--validators", "2", "--home", net)
	require.Zero(t, code, stderr)
	stdout, _, code := spdl(t, "doctor", "--home", net)
	require.Zero(t, code, stdout)
	require.NoError(t, os.Remove(filepath.Join(net, "node1", "config", "node_key.json")))
	stdout, _, code = spdl(t, "doctor", "--home", net)
	require.Equal(t, command.Failure, code, "a check of one home fails")
	for _, node := range []string{"node0", "node1"} {
		require.Contains(t, stdout, filepath.Join(net, node)+"\nok    configuration ")
	}
	stdout, _, _ = spdl(t, "doctor", "--home", net, "-o", "json")
	var all []struct {
		Home     string
		Findings []struct{ Check string }
	}
	require.NoError(t, json.Unmarshal([]byte(stdout), &all))
	require.Len(t, all, 3)
	require.Equal(t, net, all[2].Home)
	require.Equal(t, "net", all[2].Findings[0].Check)
	require.Contains(t, stdout, "2 homes: 0 run, 2 stopped (node0, node1)")
	require.Equal(t, filepath.Join(net, "node1"), all[1].Home)
	require.Equal(t, "configuration", all[1].Findings[0].Check)
	for _, args := range []string{"doctor --node tcp://127.0.0.1:1", "debug", "show-node-id", "query status", "start",
		"config set worker.part 1", "genesis validate"} {
		_, stderr, code := spdl(t, append(strings.Fields(args), "--home", net)...)
		require.Equal(t, command.WrongUse, code, args)
		require.Contains(t, stderr, net, args)
		require.Contains(t, stderr, "with --home", args)
	}
	_, stderr, code = spdl(t, "show-node-id", "--home", filepath.Join(net, "node2"))
	require.Equal(t, command.Failure, code)
	require.Contains(t, stderr, "spdl init makes a home")
}

// TestShowValidatorOfASigner: without the key's file and without a node that answers, the error says where the key is.
func TestShowValidatorOfASigner(t *testing.T) {
	dir := initHome(t, "mine")
	stdout, stderr, code := spdl(t, "show-validator", "--home", dir)
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, `"type":"tendermint/PubKeyEd25519"`)
	require.NoError(t, os.Remove(filepath.Join(dir, "config/priv_validator_key.json")))
	_, stderr, code = spdl(t, "show-validator", "--home", dir)
	require.Equal(t, command.Failure, code)
	require.Contains(t, stderr, "there is no file")
	for key, value := range map[string]string{
		"priv_validator_laddr": "tcp://127.0.0.1:2", "rpc.laddr": "tcp://127.0.0.1:1",
	} {
		_, stderr, code = spdl(t, "config", "set", key, value, "--home", dir)
		require.Zero(t, code, stderr)
	}
	_, stderr, code = spdl(t, "show-validator", "--home", dir)
	require.Equal(t, command.Unreachable, code)
	require.Contains(t, stderr, "no node answers at tcp://127.0.0.1:1")
}

// TestEveryHelp: every command has a summary that fits its list, an example that names commands and flags which
// exist. The help of a program has exit codes and the environment.
func TestEveryHelp(t *testing.T) {
	programs := roots()
	for program, root := range programs {
		var walk func(*cobra.Command)
		walk = func(cmd *cobra.Command) {
			if cmd.Hidden || cmd.Name() == "help" || cmd.Name() == "completion" {
				return
			}
			path := cmd.CommandPath()
			require.True(t, !cmd.HasParent() || cmd.Parent().HasParent() || len(cmd.Short) <= 60, "%s: %s", path, cmd.Short)
			require.Regexp(t, `^[A-Z].{10,98}[^.]$`, cmd.Short, path)
			for _, sub := range cmd.Commands() {
				walk(sub)
			}
			if !cmd.HasSubCommands() {
				require.True(t, strings.HasPrefix(cmd.Example, "  "+program+" "), "%s: no example", path)
				require.Contains(t, cmd.Example, path, "an example of another command")
			}
			for _, m := range cmdLine.FindAllStringSubmatch(cmd.Example, -1) {
				checkCommand(t, programs[m[1]], path+" --help: "+m[1], strings.Fields(m[2]))
			}
		}
		walk(root)
		out := &strings.Builder{}
		root.SetOut(out)
		require.NoError(t, root.Help())
		for _, said := range []string{"Exit codes:", "SPDL_NODE for --node", "NO_COLOR"} {
			require.Contains(t, out.String(), said)
		}
	}
}
