package home_test

import (
	"archive/tar"
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"filippo.io/age"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/internal/stage"
)

const passphrase = "correct horse battery"

// TestBackup: a backup has the keys and the configuration of a home and nothing of its data folder,
// and a restore makes a home that loads.
func TestBackup(t *testing.T) {
	stage.OnlyLong(t)
	dir := filepath.Join(t.TempDir(), "home")
	made, err := home.Init(dir, home.DefaultConfig(), home.DefaultAppConfig())
	require.NoError(t, err)
	key := filepath.Join(dir, "config", "participant_key.json")
	require.NoError(t, new(home.Keystore).WriteKeys(home.NextKeyFile(key), home.GenerateKeys()))
	c, a, err := home.Load(dir)
	require.NoError(t, err)
	var sealed bytes.Buffer
	names, err := home.Backup(&sealed, c, a, passphrase)
	require.NoError(t, err)
	require.Equal(t, []string{"config/app.toml", "config/config.toml", "config/node_key.json",
		"config/participant_key.json", "config/participant_key.json.next", "config/priv_validator_key.json"}, names)
	require.NotContains(t, sealed.String(), "priv_key")

	again := filepath.Join(t.TempDir(), "again")
	restored, err := home.Restore(bytes.NewReader(sealed.Bytes()), again, passphrase)
	require.NoError(t, err)
	require.Equal(t, names, restored)
	require.NoDirExists(t, filepath.Join(again, "data"))
	for _, name := range names {
		before, err := os.ReadFile(filepath.Join(dir, name))
		require.NoError(t, err)
		after, err := os.ReadFile(filepath.Join(again, name))
		require.NoError(t, err)
		require.Equal(t, before, after, name)
		info, err := os.Stat(filepath.Join(again, name))
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), name)
	}
	_, a, err = home.Load(again)
	require.NoError(t, err)
	keys, err := new(home.Keystore).LoadKeys(filepath.Join(again, a.Worker.KeyFile))
	require.NoError(t, err)
	require.Equal(t, made.Keys, keys)

	_, err = home.Restore(bytes.NewReader(sealed.Bytes()), again, passphrase)
	require.ErrorContains(t, err, "app.toml exists already")
	_, err = home.Restore(bytes.NewReader(sealed.Bytes()), dir, passphrase)
	require.ErrorContains(t, err, "has a data folder")
	require.ErrorContains(t, err, "last signed height")
	empty := filepath.Join(t.TempDir(), "empty")
	_, err = home.Restore(bytes.NewReader(sealed.Bytes()), empty, passphrase+"?")
	require.ErrorContains(t, err, "the passphrase is another")
	_, err = home.Restore(bytes.NewReader(sealed.Bytes()[:sealed.Len()-1]), empty, passphrase)
	require.Error(t, err, "a part of a backup")
	require.NoDirExists(t, empty)
	_, err = home.Backup(&sealed, c, a, "short")
	require.ErrorContains(t, err, "5 bytes, want at least 12")
}

// TestBackupRejects: a key file outside the home, or in its data folder, is an error and is not
// left out silently.
func TestBackupRejects(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "home")
	_, err := home.Init(dir, home.DefaultConfig(), home.DefaultAppConfig())
	require.NoError(t, err)
	c, a, err := home.Load(dir)
	require.NoError(t, err)
	for file, says := range map[string]string{
		filepath.Join(t.TempDir(), "key.json"): "is outside of the home",
		"data/key.json":                        "is in the data folder",
		"config/none.json":                     "there is no such file",
	} {
		a.Worker.KeyFile = file
		if file != "config/none.json" {
			_, err = new(home.Keystore).NewKeys(home.InHome(c, file))
			require.NoError(t, err)
		}
		_, err = home.Backup(&bytes.Buffer{}, c, a, passphrase)
		require.ErrorContains(t, err, says)
	}
}

// TestRestoreRejects: a file made by another program cannot write into data/ or outside the home.
func TestRestoreRejects(t *testing.T) {
	for _, name := range []string{"data/priv_validator_state.json", "../config/app.toml", "/etc/spdl", "config/../../x"} {
		var sealed bytes.Buffer
		to, err := age.NewScryptRecipient(passphrase)
		require.NoError(t, err)
		to.SetWorkFactor(2)
		w, err := age.Encrypt(&sealed, to)
		require.NoError(t, err)
		archive := tar.NewWriter(w)
		require.NoError(t, archive.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: 1, Mode: 0o600}))
		_, err = archive.Write([]byte("x"))
		require.NoError(t, err)
		require.NoError(t, archive.Close())
		require.NoError(t, w.Close())
		dir := filepath.Join(t.TempDir(), "home")
		_, err = home.Restore(&sealed, dir, passphrase)
		require.ErrorContains(t, err, "the backup holds", name)
		require.NoDirExists(t, dir)
	}
}
