package cli

import (
	"bytes"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/cmd/internal/cli/lab"
	"github.com/spdl/spdl/internal/stage"
)

// homeless are the commands that read and write no home.
var homeless = []string{"spdl plan", "spdl rules", "spdl new", "spdl trainer check", "spdl trainer hash",
	"spdl trainer csv", "spdl version", "spdl schema draft", "spdl schema check", "spdl schema merge",
	"spdl model adapt", "spdl model eval",
	"spdl model gain", "spdl verify dossier", "spdl verify log", "spdl testnet", "spdl-lab experiment",
	"spdl-lab start", "spdl-lab worker"} // the last two are those of spdl

// relative runs commands with homes that are named by relative paths, in a folder of their own.
type relative struct {
	*testing.T
	ran map[string]bool
	n   int
}

// args returns the arguments of a command line of spdl, and the environment's SPDL_HOME: the flag and the variable
// name the homes in turn.
func (r *relative) args(home, line string) ([]string, string) {
	args := strings.Fields(line)
	root := Root(io.Discard, io.Discard)
	if slices.Contains(labCommands, args[0]) {
		root = lab.Root(io.Discard, io.Discard)
	}
	found, _, err := root.Find(args)
	require.NoError(r, err)
	r.ran[found.CommandPath()] = true
	if r.n++; r.n%2 == 0 {
		return args, home
	}
	return append(args, "--home", home), ""
}

// runs requires the exit code 0 of a command. Files are what --passphrase-fd reads.
func (r *relative) runs(home, line string, files ...string) string {
	r.Helper()
	return r.says("", home, line, files...)
}

// says requires the exit code 0, or if fault is not empty an error that has it.
func (r *relative) says(fault, home, line string, files ...string) string {
	r.Helper()
	args, variable := r.args(home, line)
	if variable != "" {
		require.NoError(r, os.Setenv("SPDL_HOME", variable))
		defer func() { require.NoError(r, os.Unsetenv("SPDL_HOME")) }()
	}
	run := func() (string, string, int) { return spdl(r.T, args...) }
	if len(files) > 0 {
		run = func() (string, string, int) { return spdlWith(r.T, files, args...) }
	}
	stdout, stderr, code := run()
	require.Equal(r, fault != "", code != 0, "spdl %s, home %s: %s", line, home, stderr)
	require.Contains(r, stderr, fault, "spdl %s, home %s", line, home)
	return stdout
}

// serves starts a command that runs until it is stopped, waits for a text in its output, and returns what stops it.
func (r *relative) serves(home, line, until string) (stop func()) {
	r.Helper()
	args, variable := r.args(home, line)
	cmd := process(r.T, args...)
	if variable != "" {
		cmd.Env = append(cmd.Env, "SPDL_HOME="+variable)
	}
	out := &locked{}
	cmd.Stdout, cmd.Stderr = out, out
	require.NoError(r, cmd.Start())
	ended := false
	r.Cleanup(func() {
		if !ended {
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
			r.Logf("spdl %s, home %s: %s", line, home, out)
		}
	})
	require.Eventually(r, func() bool { return strings.Contains(out.String(), until) }, 2*time.Minute,
		50*time.Millisecond, "spdl %s, home %s, does not say %q", line, home, until)
	return func() {
		require.NoError(r, cmd.Process.Signal(syscall.SIGTERM))
		require.NoError(r, cmd.Wait(), out.String())
		ended = true
	}
}

// locked is a buffer that a process writes and a test reads.
type locked struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (l *locked) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.Write(p)
}

func (l *locked) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.b.String()
}

// TestRelativeHomes: each command of the tree does its work in a home that a relative path names.
func TestRelativeHomes(t *testing.T) {
	stage.OnlyLong(t) // runs nets
	t.Chdir(t.TempDir())
	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, os.WriteFile(secret, []byte("correct horse battery\n"), 0o600))
	r := &relative{T: t, ran: map[string]bool{}}
	r.foundings()
	r.stoppedNet()
	r.runningNode()
	r.changedHomes(secret)
	for _, root := range []*cobra.Command{Root(io.Discard, io.Discard), lab.Root(io.Discard, io.Discard)} {
		for _, path := range leaves(root) {
			require.True(t, r.ran[path], "%s: run it here with a relative home, or add it to homeless", path)
		}
	}
}

// leaves returns the paths of the commands that run, but of cobra's own and of those in homeless.
func leaves(cmd *cobra.Command) (paths []string) {
	for _, sub := range cmd.Commands() {
		if name := sub.Name(); name != "help" && name != "completion" {
			paths = append(paths, leaves(sub)...)
		}
	}
	if cmd.PreRunE != nil && !slices.Contains(homeless, cmd.CommandPath()) {
		paths = append(paths, cmd.CommandPath())
	}
	return paths
}

// foundings makes homes.
func (r *relative) foundings() {
	r.runs("./alone", "init alone")
	r.runs("./none", "consortium new ./ours --chain-id ours --members a")
	r.runs("./member", "consortium join ./ours --name a --address a.example:1 --data embedded")
	r.runs("./member", "consortium start ./ours")
	r.runs("./member", "consortium status ./ours")
	r.runs("./member", "genesis validate")
	r.runs("./member", "keys new ./member/other.json")
}

// stoppedNet trains with workers of a group, and examines the homes afterwards.
func (r *relative) stoppedNet() {
	r.runs("./rehearsal", "rehearse "+hospitals(r.T, 600)+" --label outcome --rounds 2 --force")
	r.runs("./net", "testnet start --validators 1 --workers 3 --rounds 2 --preset pixels")
	for _, line := range []string{
		"audit replay", "audit log", "audit contributions", "audit withdraw 0", "audit archive --out chain.spdl",
		"dossier --out chain.zip", "show-node-id", "show-validator", "keys show", "config get", "config set moniker other",
	} {
		r.runs("./net/node0", line)
	}
	r.runs("./net", "report ./net --out report.html")
	r.serves("./net", "testnet start --stay", "--home net/node0\n")()
	r.serves("./net/workers0", "worker --node tcp://127.0.0.1:1", "waiting for the chain")()
	r.says("no attack of", "./net/node0", "testnet node")
}

// runningNode asks a node.
func (r *relative) runningNode() {
	made := r.runs("./one", "testnet init --validators 1 --rounds 1000 --preset pixels --chain-id one")
	require.Contains(r, made, "one/node0  rpc ")
	require.Contains(r, made, "testnet start --home one\n")
	require.NotContains(r, made, "/one")
	stop := r.serves("./one/node0", "start", "round closed")
	for _, line := range []string{
		"query status", "query round", "query neighbours", "query model", "query participants", "query params",
		"query privacy", "query leader", "query election", "query reputation", "query membership", "query proposals",
		"query evidence", "query epochs", "query upgrade", "query refusals", "status", "query status --participants",
		"debug --out debug.tar.gz", "consent", "model export --out m.safetensors",
		"tx start-epoch --rounds 3 --dry-run", "tx rotate --dry-run", "tx join --dry-run", "tx leave --dry-run",
		"tx remove 0 --dry-run", "tx restore 0 --dry-run", "tx upgrade next --height 100000 --app-version 99 --dry-run",
	} {
		r.runs("./one/node0", line)
	}
	r.runs("./one/node0", "doctor")
	for _, prefix := range []string{"tx approve", "tx withdraw"} {
		r.says("none of 0 proposals", "./one/node0", prefix+" 12345678")
	}
	r.says("is no transaction", "./one/node0", "tx evidence m.safetensors m.safetensors")
	for _, what := range []string{"model m.safetensors", "round 0", "participant 0"} {
		r.says("--trust-hash is missing", "./one/node0", "verify "+what)
	}
	r.serves("./one/node0", "explorer --laddr tcp://127.0.0.1:0", "http://")()
	stop()
}

// changedHomes changes homes, and holds keys apart from one.
func (r *relative) changedHomes(secret string) {
	r.runs("./alone", "backup --out alone.age --passphrase-fd 3", secret)
	r.runs("./again", "restore alone.age --passphrase-fd 3", secret)
	r.runs("./again", "keys encrypt --passphrase-fd 3", secret)
	r.runs("./again", "keys passwd --passphrase-fd 3 --new-passphrase-fd 4", secret, secret)
	r.runs("./again", "keys decrypt --passphrase-fd 3", secret)
	r.runs("./alone", "signer init ./vault --listen unix:///"+filepath.Join(r.TempDir(), "s.sock"))
	r.serves("./vault", "signer", "signing for the participant")()
	r.runs("./one/node0", "reset-state --last-copy --yes")
	r.runs("./one/node0", "unsafe-reset-all --yes")
}
