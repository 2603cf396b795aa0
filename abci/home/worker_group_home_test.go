package home_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app/worker"
)

// TestResetOfACrowd: Reset also works for a home without a validator: its keys stay, and their
// journals become those of new homes. While a process uses the home, Reset changes nothing, and a
// second process is rejected at once.
func TestResetOfACrowd(t *testing.T) {
	dir := t.TempDir()
	c, a := home.DefaultConfig(), home.DefaultAppConfig()
	a.Worker.KeyFile = "config/participants"
	keys, err := home.InitWorkerGroup(dir, c, a, 3)
	require.NoError(t, err)
	journal := filepath.Join(home.Journals(c, a), "0001.json")
	for _, path := range []string{journal, home.KeptHeader(c)} {
		require.NoError(t, os.WriteFile(path, []byte("old"), 0o600))
	}

	require.ErrorContains(t, home.ResetState(c, a), "no databases")

	held, err := home.LockWorkerGroup(c, a)
	require.NoError(t, err)
	_, err = home.LockWorkerGroup(c, a)
	require.ErrorIs(t, err, worker.ErrBusy)
	require.ErrorIs(t, home.Reset(c, a), worker.ErrBusy)
	require.FileExists(t, home.KeptHeader(c))
	require.NoError(t, held.Close())

	require.NoError(t, home.Reset(c, a))
	require.NoFileExists(t, home.KeptHeader(c))
	left, err := os.ReadDir(home.Journals(c, a))
	require.NoError(t, err)
	require.Len(t, left, 3)
	text, err := os.ReadFile(journal)
	require.NoError(t, err)
	require.Contains(t, string(text), `"new":true`)
	again, err := new(home.Keystore).LoadKeys(filepath.Join(dir, a.Worker.KeyFile, "0001.json"))
	require.NoError(t, err)
	require.Equal(t, keys[1], again)
}
