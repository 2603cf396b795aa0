package internal_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/internal/newfile"
)

// TestNewFile: a file that exists stays as it is, also a link to nowhere.
func TestNewFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "file")
	require.NoError(t, newfile.Check(path))
	require.NoError(t, newfile.Write(path, []byte("first")))
	require.ErrorContains(t, newfile.Check(path), path+" exists already")
	require.ErrorContains(t, newfile.Write(path, []byte("second")), path+" exists already")
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "first", string(data))

	link := filepath.Join(t.TempDir(), "link")
	require.NoError(t, os.Symlink(filepath.Join(t.TempDir(), "nowhere"), link))
	require.ErrorContains(t, newfile.Write(link, nil), link+" exists already")
	require.ErrorContains(t, newfile.Write(filepath.Join(path, "below"), nil), "not a directory")

	secret := filepath.Join(t.TempDir(), "secret")
	require.NoError(t, newfile.WriteMode(secret, []byte("key"), 0o600))
	info, err := os.Stat(secret)
	require.NoError(t, err)
	require.Equal(t, os.FileMode(0o600), info.Mode())
}
