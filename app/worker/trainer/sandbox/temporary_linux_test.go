package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestMain holds a folder until it is killed, as a worker, if a test asks for that.
func TestMain(m *testing.M) {
	if os.Getenv("SPDL_TEST_HOLD") == "" {
		os.Exit(m.Run())
	}
	if _, _, err := Temporary("spdl-test-"); err != nil {
		panic(err)
	}
	_, _ = os.Stdout.Write([]byte("held"))
	select {}
}

// TestTemporaryOfAKilledProcess: what a killed process left behind goes with the next start, and neither
// what is in use, of other users, of other names, nor what a link leads to.
func TestTemporaryOfAKilledProcess(t *testing.T) {
	tmp, elsewhere := t.TempDir(), t.TempDir()
	t.Setenv("TMPDIR", tmp)
	t.Setenv("SPDL_TEST_HOLD", "1")
	node := exec.Command(os.Args[0])
	out, err := node.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, node.Start())
	_, err = out.Read(make([]byte, 4))
	require.NoError(t, err)
	all, err := os.ReadDir(tmp)
	require.NoError(t, err)
	require.Len(t, all, 1)
	left := filepath.Join(tmp, all[0].Name())
	require.NoError(t, os.Mkdir(filepath.Join(left, "below"), 0o300))
	require.NoError(t, os.Symlink(elsewhere, filepath.Join(left, "link")))
	kept := filepath.Join(elsewhere, "kept")
	require.NoError(t, os.WriteFile(kept, nil, 0o600))
	require.NoError(t, os.Symlink(elsewhere, filepath.Join(tmp, "spdl-test-link")))
	require.NoError(t, os.Mkdir(filepath.Join(tmp, "other"), 0o700))
	if os.Getuid() == 0 {
		require.NoError(t, os.Mkdir(filepath.Join(tmp, "spdl-test-other"), 0o700))
		require.NoError(t, os.Chown(filepath.Join(tmp, "spdl-test-other"), 65534, 65534))
	}

	inUse, remove, err := Temporary("spdl-test-")
	require.NoError(t, err)
	require.DirExists(t, left, "its process runs")
	require.NoError(t, node.Process.Kill())
	_ = node.Wait()
	_, again, err := Temporary("spdl-test-")
	require.NoError(t, err)
	require.NoDirExists(t, left, "its process was killed")
	require.DirExists(t, inUse)
	require.NoError(t, remove())
	require.NoError(t, again())
	require.NoDirExists(t, inUse)

	require.FileExists(t, kept)
	require.DirExists(t, filepath.Join(tmp, "other"))
	_, err = os.Lstat(filepath.Join(tmp, "spdl-test-link"))
	require.NoError(t, err)
	if os.Getuid() == 0 {
		require.DirExists(t, filepath.Join(tmp, "spdl-test-other"))
	}
}

// TestTemporaryAtOnce: processes that start together each have a folder of their own.
func TestTemporaryAtOnce(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			for range 20 {
				folder, remove, err := Temporary("spdl-test-")
				if err != nil || os.WriteFile(filepath.Join(folder, "code"), nil, 0o600) != nil || remove() != nil {
					t.Errorf("%s: %v", folder, err)
				}
			}
		})
	}
	all.Wait()
	left, err := os.ReadDir(os.TempDir())
	require.NoError(t, err)
	require.Empty(t, left)
}
