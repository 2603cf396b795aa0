package home_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/home"
)

// TestReplaceKeys: the next keys become the keys, the former keys stay readable, and only the owner
// may read any of the files.
func TestReplaceKeys(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key.json")
	old, err := new(home.Keystore).NewKeys(path)
	require.NoError(t, err)
	_, err = new(home.Keystore).ReplaceKeys(path)
	require.ErrorIs(t, err, os.ErrNotExist, "there are no next keys")

	next, err := new(home.Keystore).NewKeys(home.NextKeyFile(path))
	require.NoError(t, err)
	kept, err := new(home.Keystore).ReplaceKeys(path)
	require.NoError(t, err)
	require.Equal(t, fmt.Sprintf("%s.%x.old", path, []byte(old.Public()[:4])), kept)
	require.NoFileExists(t, home.NextKeyFile(path))
	for file, want := range map[string]any{path: next, kept: old} {
		keys, err := new(home.Keystore).LoadKeys(file)
		require.NoError(t, err)
		require.Equal(t, want, keys)
		info, err := os.Stat(file)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm())
	}
	require.ErrorContains(t, new(home.Keystore).WriteKeys(path, old), "exists already")

	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, bytes.Replace(text, []byte("{"), []byte(`{"pub_key": null, `), 1), 0o600))
	_, err = new(home.Keystore).LoadKeys(path)
	require.ErrorContains(t, err, "pub_key is given twice")
}

// TestReplaceKeysAgain: a replacement that was interrupted after the old keys were kept is
// completed. If the signing key stays the same, no kept file is overwritten.
func TestReplaceKeysAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "key.json")
	keys, err := new(home.Keystore).NewKeys(path)
	require.NoError(t, err)
	data, err := os.ReadFile(path)
	require.NoError(t, err)
	cutOff := fmt.Sprintf("%s.%x.old", path, []byte(keys.Public()[:4]))
	require.NoError(t, os.WriteFile(cutOff, data, 0o600))

	kept := map[string]bool{}
	for range 3 {
		keys.VRF = home.GenerateKeys().VRF
		require.NoError(t, new(home.Keystore).WriteKeys(home.NextKeyFile(path), keys))
		file, err := new(home.Keystore).ReplaceKeys(path)
		require.NoError(t, err)
		kept[file] = true
	}
	require.Equal(t, map[string]bool{cutOff: true, cutOff + ".2": true, cutOff + ".3": true}, kept)
	now, err := new(home.Keystore).LoadKeys(path)
	require.NoError(t, err)
	require.Equal(t, keys, now)
}
