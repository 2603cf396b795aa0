package worker

import (
	"errors"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/privacy"
)

// TestJournalIsOnDiskBeforeItsTransactionLeaves: putting an entry syncs the folder
// after the rename, and fails where that fails.
func TestJournalIsOnDiskBeforeItsTransactionLeaves(t *testing.T) {
	real := syncFolder
	defer func() { syncFolder = real }()
	folder := t.TempDir()
	j, err := OpenJournal(filepath.Join(folder, "journal.json"), apptest.ChainID, []byte{1})
	require.NoError(t, err)
	var synced []string
	syncFolder = func(path string) error {
		require.FileExists(t, j.path, "the rename comes first")
		synced = append(synced, path)
		return real(path)
	}
	gradient, aggregate := apptest.Sign(0, &tx.Gradient{Round: 1}), apptest.Sign(0, &tx.Aggregate{Round: 1})
	require.NoError(t, j.putGradient(gradient, privacy.Snapshot{}, nil, 0))
	require.Equal(t, []string{folder}, synced)
	require.NoError(t, j.putAggregate(aggregate))
	require.Len(t, synced, 2)
	broken := errors.New("disk is gone")
	syncFolder = func(string) error { return broken }
	require.ErrorIs(t, j.putAggregate(aggregate), broken)
}
