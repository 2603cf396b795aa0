package home_test

import (
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app/worker"
)

// TestResetOfACrowd: a home of many workers has no databases, and no reset changes it. A second process is rejected
// at once.
func TestResetOfACrowd(t *testing.T) {
	dir := t.TempDir()
	c, a := home.DefaultConfig(), home.DefaultAppConfig()
	a.Worker.KeyFile = "config/participants"
	_, err := home.InitWorkerGroup(dir, c, a, 3)
	require.NoError(t, err)
	held, err := home.LockWorkerGroup(c, a)
	require.NoError(t, err)
	_, err = home.LockWorkerGroup(c, a)
	require.ErrorIs(t, err, worker.ErrBusy)
	require.NoError(t, held.Close())
	require.ErrorContains(t, home.Reset(c, a), "no databases")
	require.ErrorContains(t, home.ResetState(c, a), "no databases")
	require.FileExists(t, filepath.Join(home.Journals(c, a), "0001.json"))
}
