package home

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestRelativeHome: the root of a home is absolute however the home is named. Otherwise paths in it would be taken for
// paths within the root, and the sandbox would compare relative secrets with absolute folders.
func TestRelativeHome(t *testing.T) {
	t.Chdir(t.TempDir())
	here, err := os.Getwd()
	require.NoError(t, err)
	made, err := Init("./one", DefaultConfig(), DefaultAppConfig())
	require.NoError(t, err)
	require.Equal(t, filepath.Join(here, "one"), made.Config.RootDir)
	c, a, err := Load("one/../one")
	require.NoError(t, err)
	require.Equal(t, filepath.Join(here, "one"), c.RootDir)
	for _, secret := range a.Worker.sandboxIn(c).Secret {
		require.True(t, filepath.IsAbs(secret), secret)
	}
	group := DefaultConfig()
	a.Worker.KeyFile = "config/keys"
	_, err = InitWorkerGroup("group", group, a, 2)
	require.NoError(t, err)
	require.Equal(t, filepath.Join(here, "group"), group.RootDir)
	require.FileExists(t, filepath.Join(here, "group/data/journals/0001.json"))
}
