package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestGroup: in a control group that this process may make, the kernel itself ends what takes more
// memory than the limit, and refuses processes beyond the limit.
func TestGroup(t *testing.T) {
	parent, err := delegated()
	if err != nil {
		t.Skip(err)
	}
	group, err := newGroup(policy{MaxMemory: MinMemory, MaxTasks: 4})
	require.NoError(t, err)
	require.Equal(t, parent, filepath.Dir(group.Name()))
	in := func(script string) ([]byte, error) {
		cmd := exec.Command("sh", "-c", script)
		cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(group.Fd())}
		return cmd.CombinedOutput()
	}
	out, err := in("cat /proc/self/cgroup")
	require.NoError(t, err, "%s", out)
	require.Contains(t, string(out), filepath.Base(group.Name()))
	out, _ = in("for i in 1 2 3 4 5 6; do sleep 1 & done; wait")
	require.Contains(t, strings.ToLower(string(out)), "fork")
	out, err = in("dd if=/dev/zero of=/dev/null bs=200M count=1")
	require.Error(t, err, "%s", out)
	require.True(t, removeGroup(group))
	require.NoDirExists(t, group.Name())
	_, err = os.Stat(parent)
	require.NoError(t, err)
}
