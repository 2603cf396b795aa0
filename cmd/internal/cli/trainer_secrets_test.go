package cli

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/worker/trainer/sandbox"
	"github.com/spdl/spdl/internal/stage"
)

// TestHomeInTheStudy: a command starts no trainer that could read the keys of a home: of the home that
// the command is for, and of one in the study's folder, such as a localnet's.
func TestHomeInTheStudy(t *testing.T) {
	if err := sandbox.Supported(); err != nil {
		t.Skip(err) // of a machine without containment: there a start is refused
	}
	study := filepath.Join(t.TempDir(), "study")
	_, stderr, code := spdl(t, "new", study)
	require.Zero(t, code, stderr)
	script := filepath.Join(study, "train.py")
	for _, home := range []string{filepath.Join(study, "home"), filepath.Join(study, "old", "runs", "net", "node0")} {
		_, stderr, code = spdl(t, "init", "alice", "--chain-id", "solo", "--home", home)
		require.Zero(t, code, stderr)
		stdout, _, code := spdl(t, "trainer", "check", script)
		require.NotZero(t, code)
		require.Contains(t, stdout, "would read all of "+study)
		require.NoError(t, os.RemoveAll(home))
	}
	stdout, _, _ := spdl(t, "trainer", "check", script, "--home", filepath.Join(study, "to-come"))
	require.Contains(t, stdout, "would read all of "+study)
}

// TestCheckAsTheHome: a check runs the trainer in the sandbox of the home: its mode, limits, environment
// and what it may read.
func TestCheckAsTheHome(t *testing.T) {
	stage.OnlyLong(t)
	if err := sandbox.Supported(); err != nil {
		t.Skip(err) // of a machine without containment: there a start is refused
	}
	study, other, home := filepath.Join(t.TempDir(), "study"), t.TempDir(), filepath.Join(t.TempDir(), "home")
	_, stderr, code := spdl(t, "new", study)
	require.Zero(t, code, stderr)
	script := filepath.Join(study, "train.py")
	require.NoError(t, os.WriteFile(filepath.Join(other, "rows.csv"), []byte("rows"), 0o600))
	require.NoError(t, os.WriteFile(script, []byte(`import os, resource, sys
filtered = "Seccomp:\t0" not in open("/proc/self/status").read()
print("env", os.environ.get("STUDY"), "memory", resource.getrlimit(resource.RLIMIT_DATA)[0], "filtered", filtered,
      open(sys.argv[1]).read() if filtered else "", file=sys.stderr)
`), 0o700))
	_, stderr, code = spdl(t, "init", "alice", "--chain-id", "solo", "--home", home)
	require.Zero(t, code, stderr)
	for key, value := range map[string]string{"worker.trainer_env": "STUDY=mine", "worker.trainer_memory": "1234567890",
		"worker.trainer_dir": other, "worker.trainer_read": "rows.csv"} {
		_, stderr, code = spdl(t, "config", "set", key, value, "--home", home)
		require.Zero(t, code, stderr)
	}
	check := func(more ...string) string {
		_, stderr, code := spdl(t, append([]string{"trainer", "check", "--python", stage.Tool(t, "python3"), "--home", home,
			script, filepath.Join(other, "rows.csv")}, more...)...)
		require.NotZero(t, code)
		return stderr
	}
	require.Contains(t, check(), "env mine memory 1234567890 filtered True rows")
	_, stderr, code = spdl(t, "config", "set", "worker.sandbox", "off", "--home", home)
	require.Zero(t, code, stderr)
	require.Contains(t, check(), "filtered False")
	require.Contains(t, check("--sandbox", "on"), "env mine memory 1234567890 filtered True rows")
}

// TestSecretsOfABrokenHome: no trainer starts beside a home whose configuration cannot be read, because it
// may name a key that no default names.
func TestSecretsOfABrokenHome(t *testing.T) {
	study := filepath.Join(t.TempDir(), "study")
	_, stderr, code := spdl(t, "new", study)
	require.Zero(t, code, stderr)
	marker := filepath.Join(study, "ran")
	script := []byte("open(" + strconv.Quote(marker) + ", 'w')\n")
	require.NoError(t, os.WriteFile(filepath.Join(study, "train.py"), script, 0o700))
	for name, spoil := range map[string]func(app string) error{
		"key_file":  func(app string) error { return os.WriteFile(app, []byte("[worker]\nkey_file = 7x\n"), 0o600) },
		"no such":   os.Remove,
		"directory": func(app string) error { return errors.Join(os.Remove(app), os.Mkdir(app, 0o700)) },
	} {
		for _, home := range []string{filepath.Join(t.TempDir(), "home"), filepath.Join(study, "home")} {
			_, stderr, code = spdl(t, "init", "alice", "--chain-id", "solo", "--home", home)
			require.Zero(t, code, stderr)
			require.NoError(t, spoil(filepath.Join(home, "config", "app.toml")), name)
			args := []string{"trainer", "check", "--sandbox", "off", filepath.Join(study, "train.py")}
			if filepath.Dir(home) != study {
				args = append(args, "--home", home)
			}
			_, stderr, code = spdl(t, args...)
			require.NotZero(t, code)
			require.Contains(t, stderr, filepath.Join(home, "config", "app.toml"), name)
			require.NoFileExists(t, marker)
			require.NoError(t, os.RemoveAll(home))
		}
	}
}
