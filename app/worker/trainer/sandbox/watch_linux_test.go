package sandbox

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// TestInterval: however long a check takes, the next one comes within a second. A trainer that makes
// checks long cannot put off the next one.
func TestInterval(t *testing.T) {
	for took, want := range map[time.Duration]time.Duration{0: minInterval, 4 * time.Millisecond: 400 * time.Millisecond,
		5 * time.Second: time.Second, time.Hour: time.Second} {
		require.InDelta(t, want, interval(time.Now().Add(-took)), float64(200*time.Millisecond), took)
	}
}

// scratchWatch returns a watch of an empty scratch folder, and the signals that it has sent.
func scratchWatch(t *testing.T) (w *watch, sent *[]syscall.Signal) {
	t.Helper()
	sent = new([]syscall.Signal)
	w = &watch{policy: policy{Scratch: t.TempDir(), MaxFiles: 8 << 20}, root: os.Getpid(),
		signal: func(s syscall.Signal) { *sent = append(*sent, s) }}
	return w, sent
}

// TestOthersFillTheDisk: if more is gone from the disk than the trainer's files take, the supervisor
// counts them while all processes stand still. What is gone was others', and it counts once.
func TestOthersFillTheDisk(t *testing.T) {
	w, sent := scratchWatch(t)
	w.free = freeBytes(w.policy.Scratch) + 1<<40
	require.Empty(t, w.files(4096))
	require.Equal(t, []syscall.Signal{unix.SIGSTOP, unix.SIGCONT}, *sent)
	require.Less(t, w.free, freeBytes(w.policy.Scratch)+1<<39)
	w.policy.MaxFiles = 1 << 39 // other programs write to this disk now
	require.Empty(t, w.files(4096))
	require.Len(t, *sent, 2)
}

// TestFilesThatMove: what a walk finds counts only if it is there while all processes stand still.
func TestFilesThatMove(t *testing.T) {
	w, sent := scratchWatch(t)
	require.Empty(t, w.files(1<<30))
	require.Len(t, *sent, 2)
	require.NoError(t, os.WriteFile(filepath.Join(w.policy.Scratch, "f"), make([]byte, 9<<20), 0o600))
	require.Contains(t, w.files(1<<30), "its scratch folder holds ")
	if os.Getuid() != 0 {
		require.NoError(t, os.Mkdir(filepath.Join(w.policy.Scratch, "d"), 0o300))
		require.Contains(t, w.files(1<<30), "cannot be counted")
	}
}

// TestRemoveScratch: no mode, no depth and no name keeps a scratch folder from being removed, even if
// fewer descriptors are left than it has levels.
func TestRemoveScratch(t *testing.T) {
	scratch, err := os.MkdirTemp(t.TempDir(), "")
	require.NoError(t, err)
	deep, err := os.OpenRoot(scratch)
	require.NoError(t, err)
	for i := range 300 {
		name := fmt.Sprint(strings.Repeat("n", 200), i)
		require.NoError(t, deep.Mkdir(name, 0o700))
		require.NoError(t, deep.WriteFile("f", nil, 0))
		below, err := deep.OpenRoot(name)
		require.NoError(t, err)
		require.NoError(t, deep.Chmod(name, 0o300))
		require.NoError(t, deep.Close())
		deep = below
	}
	require.NoError(t, deep.Close())
	require.NoError(t, os.MkdirAll(filepath.Join(scratch, "a", "b"), 0o700))
	require.NoError(t, os.Symlink("/", filepath.Join(scratch, "a", "link")))
	require.NoError(t, os.Chmod(filepath.Join(scratch, "a", "b"), 0))
	require.NoError(t, os.Chmod(filepath.Join(scratch, "a"), 0))

	var now unix.Rlimit
	require.NoError(t, unix.Getrlimit(unix.RLIMIT_NOFILE, &now))
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &unix.Rlimit{Cur: 64, Max: now.Max}))
	err = removeScratch(scratch)
	require.NoError(t, unix.Setrlimit(unix.RLIMIT_NOFILE, &now))
	require.NoError(t, err)
	require.NoDirExists(t, scratch)
}
