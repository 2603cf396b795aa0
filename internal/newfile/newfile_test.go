package newfile

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestWrite: a file that exists stays as it is, also a link to nowhere.
func TestWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, Check(path))
	require.NoError(t, Write(path, []byte("first")))
	require.ErrorContains(t, Check(path), path+" exists already")
	require.ErrorContains(t, Write(path, []byte("second")), path+" exists already")
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "first", string(data))

	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(filepath.Join(t.TempDir(), "nowhere"), link))
	require.ErrorContains(t, Write(link, nil), link+" exists already")
	require.ErrorContains(t, Write(filepath.Join(path, "below"), nil), "not a directory")
}
