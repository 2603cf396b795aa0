package cli

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/worker/trainer/sandbox"
)

// TestHomeInTheStudy: a command starts no trainer that could read the keys of a home: of the home that
// the command is for, and of one in the study's folder, such as a localnet's.
func TestHomeInTheStudy(t *testing.T) {
	if err := sandbox.Supported(); err != nil {
		t.Skip(err)
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
