package worker

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/privacy"
)

// TestNothingStaysBesideAJournal: the file that a killed process left behind while it began a
// journal is removed at the next start, and its content is ignored.
func TestNothingStaysBesideAJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "journal.json")
	require.NoError(t, NewJournal(path))
	require.NoError(t, os.WriteFile(path+begunSuffix, []byte("half of"), 0o600))
	j, err := OpenJournal(path, apptest.ChainID, []byte{1})
	require.NoError(t, err)
	require.NoFileExists(t, path+begunSuffix)
	gradient := apptest.Sign(0, &tx.Gradient{Round: 3})
	require.NoError(t, j.putGradient(gradient, privacy.Snapshot{}, nil, 0))
	require.NoError(t, j.Close())
	require.NoFileExists(t, path+begunSuffix)
	j, err = OpenJournal(path, apptest.ChainID, []byte{1})
	require.NoError(t, err)
	held, err := j.gradient(0, 3)
	require.NoError(t, err)
	require.Equal(t, gradient.Raw, held.Raw)
	require.NoError(t, j.Close())
}
