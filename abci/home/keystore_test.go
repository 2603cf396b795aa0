package home

import (
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"filippo.io/age"
	"github.com/cometbft/cometbft/config"
	"github.com/cometbft/cometbft/privval"
	"github.com/stretchr/testify/require"
)

const (
	homePassphrase  = "correct horse battery"
	otherPassphrase = "staple of a battery horse"
)

// cheap makes scrypt cheap.
func cheap(t *testing.T) {
	before := workFactor
	workFactor = 10
	t.Cleanup(func() { workFactor = before })
}

func says(passphrase string) Passphrase { return func() (string, error) { return passphrase, nil } }

// plainHome makes a home with the keys of a rotation, and returns its key files and all private keys
// in it as base64, as they stand in key files.
func plainHome(t *testing.T) (dir string, c *config.Config, files, secrets []string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "home")
	_, err := Init(dir, DefaultConfig(), DefaultAppConfig())
	require.NoError(t, err)
	c, a, err := Load(dir)
	require.NoError(t, err)
	store := new(Keystore)
	require.NoError(t, store.WriteKeys(NextKeyFile(InHome(c, a.Worker.KeyFile)), GenerateKeys()))
	files, err = KeyFiles(c, a)
	require.NoError(t, err)
	require.Len(t, files, 4)
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		secrets = append(secrets, secretsIn(t, data)...)
	}
	require.Len(t, secrets, 6)
	return dir, c, files, secrets
}

// secretsIn returns the values of all private keys in a key file.
func secretsIn(t *testing.T, data []byte) (out []string) {
	t.Helper()
	for _, piece := range strings.Split(string(data), `"tendermint/PrivKeyEd25519",`)[1:] {
		_, value, ok := strings.Cut(piece, `"value": "`)
		require.True(t, ok)
		value, _, ok = strings.Cut(value, `"`)
		require.True(t, ok)
		out = append(out, value)
	}
	return out
}

// plainFiles returns the files beneath a folder that contain a private key, as text or as bytes.
func plainFiles(t *testing.T, dir string, secrets []string) (found []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		for _, secret := range secrets {
			raw, decodeErr := base64.StdEncoding.DecodeString(secret)
			require.NoError(t, decodeErr)
			if bytes.Contains(data, []byte(secret[:40])) || bytes.Contains(data, raw[:32]) {
				found = append(found, path)
				break
			}
		}
		return err
	}))
	return found
}

// TestEncrypt: encryption does not change the keys of a home, no file has a plain key afterwards,
// and the home asks for the passphrase once.
func TestEncrypt(t *testing.T) {
	cheap(t)
	dir, c, files, secrets := plainHome(t)
	require.Len(t, plainFiles(t, dir, secrets), 4, "the scan finds plain keys")
	before, err := new(Keystore).LoadKeys(files[1])
	require.NoError(t, err)
	left := filepath.Join(dir, "config", "write-file-atomic-1") // a temporary file of a killed process
	require.NoError(t, os.WriteFile(left, []byte(secrets[0]), 0o600))

	done, err := NewKeystore(dir, nil).Encrypt(files, says(homePassphrase))
	require.NoError(t, err)
	require.Equal(t, files, done)
	require.Empty(t, plainFiles(t, dir, secrets))
	for _, file := range append(files, IdentityFile(dir)) {
		info, err := os.Stat(file)
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode().Perm(), file)
	}

	asked := 0
	store := NewKeystore(dir, func() (string, error) { asked++; return homePassphrase, nil })
	after, err := store.LoadKeys(files[1])
	require.NoError(t, err)
	require.Equal(t, before, after)
	_, err = store.LoadNodeKey(c.NodeKeyFile())
	require.NoError(t, err)
	pv, err := store.LoadValidator(c.PrivValidatorKeyFile(), c.PrivValidatorStateFile())
	require.NoError(t, err)
	require.Equal(t, 1, asked)
	require.Panics(t, pv.Save, "CometBFT would write the key")

	kept, err := store.ReplaceKeys(filepath.Join(dir, "config", "participant_key.json"))
	require.NoError(t, err)
	encrypted, err := IsEncrypted(kept)
	require.NoError(t, err)
	require.True(t, encrypted)
	path := filepath.Join(dir, "config", "more.json")
	made, err := store.NewKeys(path)
	require.NoError(t, err)
	again, err := store.LoadKeys(path)
	require.NoError(t, err)
	require.Equal(t, made, again)
	require.Empty(t, plainFiles(t, dir, append(secrets, base64.StdEncoding.EncodeToString(made.Signing))))

	_, err = new(Keystore).LoadKeys(path)
	require.ErrorIs(t, err, ErrLocked)
	wrong := NewKeystore(dir, says("another passphrase"))
	for range 2 {
		_, err = wrong.LoadKeys(path)
		require.ErrorIs(t, err, ErrLocked)
		require.ErrorContains(t, err, "the passphrase does not open "+IdentityFile(dir))
	}
	require.NoError(t, os.Chmod(IdentityFile(dir), 0o640))
	_, err = NewKeystore(dir, says(homePassphrase)).LoadKeys(path)
	require.ErrorContains(t, err, "mode 0640, want 0600")
}

// TestDecrypt: the files are what they were before the encryption, byte for byte.
func TestDecrypt(t *testing.T) {
	cheap(t)
	dir, _, files, _ := plainHome(t)
	before := map[string][]byte{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		require.NoError(t, err)
		before[file] = data
	}
	_, err := NewKeystore(dir, nil).Decrypt(files)
	require.ErrorContains(t, err, "its keys are not encrypted")
	_, err = NewKeystore(dir, nil).Encrypt(files, says("too short"))
	require.ErrorContains(t, err, "9 bytes, want at least 12")
	_, err = NewKeystore(dir, nil).Encrypt(files, says(homePassphrase))
	require.NoError(t, err)
	_, err = NewKeystore(dir, says(otherPassphrase)).Decrypt(files)
	require.ErrorContains(t, err, "does not open")
	require.NoError(t, NewKeystore(dir, says(homePassphrase)).ChangePassphrase(otherPassphrase))
	_, err = NewKeystore(dir, says(homePassphrase)).Decrypt(files)
	require.ErrorContains(t, err, "does not open")
	done, err := NewKeystore(dir, says(otherPassphrase)).Decrypt(files)
	require.NoError(t, err)
	require.Equal(t, files, done)
	require.NoFileExists(t, IdentityFile(dir))
	for file, data := range before {
		after, err := os.ReadFile(file)
		require.NoError(t, err)
		require.Equal(t, data, after, file)
	}
}

// TestEveryCrashOfAnEncryptionStarts stops an encryption, and then a decryption, before each of its
// writes, as kill -9 does, and before each rename. After each kill the keys can be read, PlainKeys
// lists the plain key files, and another call of the same function completes the work.
func TestEveryCrashOfAnEncryptionStarts(t *testing.T) {
	cheap(t)
	dir, c, files, secrets := plainHome(t)
	a := DefaultAppConfig()
	loads := func(plain int) {
		t.Helper()
		store := NewKeystore(dir, says(homePassphrase))
		_, err := store.LoadKeys(InHome(c, a.Worker.KeyFile))
		require.NoError(t, err)
		_, err = store.LoadKeys(NextKeyFile(InHome(c, a.Worker.KeyFile)))
		require.NoError(t, err)
		_, err = store.LoadNodeKey(c.NodeKeyFile())
		require.NoError(t, err)
		_, err = store.LoadValidator(c.PrivValidatorKeyFile(), c.PrivValidatorStateFile())
		require.NoError(t, err)
		named, err := PlainKeys(c, a)
		require.NoError(t, err)
		require.Len(t, named, plain)
	}
	killed := errors.New("killed")
	stopAt := func(writes int, before bool) { // the writes that are made before the kill
		replaceFile = func(path string, data []byte) error {
			if writes--; writes < 0 && before {
				// the temporary file is written, the rename is not made
				return errors.Join(killed, os.WriteFile(filepath.Join(filepath.Dir(path), "write-file-atomic-7"), data, 0o600))
			}
			if err := replaceSecret(path, data); err != nil || writes >= 0 {
				return err
			}
			return killed
		}
	}
	t.Cleanup(func() { replaceFile = replaceSecret })
	for at := range len(files) + 1 {
		for _, before := range []bool{true, false} {
			name := fmt.Sprintf("write %d, before the rename %t", at, before)
			stopAt(at, before)
			_, err := NewKeystore(dir, says(homePassphrase)).Encrypt(files, says(homePassphrase))
			require.ErrorIs(t, err, killed, name)
			whole := at
			if !before {
				whole++ // the identity is the first write
			}
			if whole > 0 {
				loads(len(files) - whole + 1)
			} else {
				loads(0) // not an encrypted home
			}
			replaceFile = replaceSecret
			_, err = NewKeystore(dir, says(homePassphrase)).Encrypt(files, says(homePassphrase))
			require.NoError(t, err, name)
			loads(0)
			require.Empty(t, plainFiles(t, dir, secrets), name)

			if at < len(files) {
				stopAt(at, before)
				_, err = NewKeystore(dir, says(homePassphrase)).Decrypt(files)
				require.ErrorIs(t, err, killed, name)
				loads(whole)
			}
			replaceFile = replaceSecret
			_, err = NewKeystore(dir, says(homePassphrase)).Decrypt(files)
			require.NoError(t, err, name)
			loads(0)
		}
	}
}

// TestAForeignKeyIsNamed: a key file that is encrypted to another identity, a damaged key file, and
// a key file in a home without its identity are rejected, each with an error that says so.
func TestAForeignKeyIsNamed(t *testing.T) {
	cheap(t)
	dir, c, files, _ := plainHome(t)
	_, err := NewKeystore(dir, nil).Encrypt(files, says(homePassphrase))
	require.NoError(t, err)
	other, err := age.GenerateX25519Identity()
	require.NoError(t, err)
	foreign, err := encryptTo([]byte("{}"), other.Recipient())
	require.NoError(t, err)
	path := filepath.Join(dir, "config", "foreign.json")
	require.NoError(t, os.WriteFile(path, foreign, 0o600))
	_, err = NewKeystore(dir, says(homePassphrase)).LoadKeys(path)
	require.ErrorContains(t, err, "encrypted to another identity")

	data, err := os.ReadFile(c.NodeKeyFile())
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(c.NodeKeyFile(), data[:len(data)-7], 0o600))
	_, err = NewKeystore(dir, says(homePassphrase)).LoadNodeKey(c.NodeKeyFile())
	require.ErrorContains(t, err, "damaged")

	require.NoError(t, os.Remove(IdentityFile(dir)))
	_, err = NewKeystore(dir, says(homePassphrase)).LoadKeys(files[1])
	require.ErrorContains(t, err, "restore it from a backup")
	_, err = NewKeystore(dir, nil).Encrypt(files, says(homePassphrase))
	require.ErrorIs(t, err, ErrLocked)
	require.NoFileExists(t, IdentityFile(dir))
}

// TestInitEncrypted: the key files of the home are never plain, and a backup has the identity that
// decrypts them.
func TestInitEncrypted(t *testing.T) {
	cheap(t)
	dir := filepath.Join(t.TempDir(), "home")
	_, err := InitEncrypted(dir, DefaultConfig(), DefaultAppConfig(), NewKeystore(dir, nil), says("short"))
	require.ErrorContains(t, err, "want at least 12")
	require.NoDirExists(t, dir)
	made, err := InitEncrypted(dir, DefaultConfig(), DefaultAppConfig(), NewKeystore(dir, nil), says(homePassphrase))
	require.NoError(t, err)
	c, a, err := Load(dir)
	require.NoError(t, err)
	named, err := PlainKeys(c, a)
	require.NoError(t, err)
	require.Empty(t, named)
	require.Empty(t, plainFiles(t, dir, []string{base64.StdEncoding.EncodeToString(made.Keys.Signing),
		base64.StdEncoding.EncodeToString(made.Keys.VRF)}))

	var sealed bytes.Buffer
	names, err := Backup(&sealed, c, a, otherPassphrase)
	require.NoError(t, err)
	require.Contains(t, names, "config/identity.age")
	again := filepath.Join(t.TempDir(), "again")
	_, err = Restore(&sealed, again, otherPassphrase)
	require.NoError(t, err)
	keys, err := NewKeystore(again, says(homePassphrase)).LoadKeys(filepath.Join(again, a.Worker.KeyFile))
	require.NoError(t, err)
	require.Equal(t, made.Keys, keys)
}

// TestLoadValidatorKeepsTheLastSignature: the validator of an encrypted home continues from the
// state in its file, and writes its state to that file.
func TestLoadValidatorKeepsTheLastSignature(t *testing.T) {
	dir := t.TempDir()
	c := DefaultConfig()
	_, err := Init(dir, c, DefaultAppConfig())
	require.NoError(t, err)
	before := privval.LoadFilePV(c.PrivValidatorKeyFile(), c.PrivValidatorStateFile())
	before.LastSignState.Height, before.LastSignState.Round, before.LastSignState.Step = 7, 2, 3
	before.LastSignState.SignBytes, before.LastSignState.Signature = []byte{1}, []byte{2}
	before.LastSignState.Save()
	after, err := new(Keystore).LoadValidator(c.PrivValidatorKeyFile(), c.PrivValidatorStateFile())
	require.NoError(t, err)
	require.Equal(t, before.LastSignState, after.LastSignState)
	require.Equal(t, before.Key.PrivKey, after.Key.PrivKey)
	require.Equal(t, before.Key.Address, after.Key.Address)
}

// TestValidatorKeyNames: a key file that another reader could read differently is rejected.
func TestValidatorKeyNames(t *testing.T) {
	made, err := Init(filepath.Join(t.TempDir(), "named"), DefaultConfig(), DefaultAppConfig())
	require.NoError(t, err)
	path := filepath.Join(made.Dir, "config", "priv_validator_key.json")
	_, err = new(Keystore).LoadValidatorKey(path)
	require.NoError(t, err)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	for says, bad := range map[string][]byte{
		"priv_key is given twice": bytes.Replace(text, []byte("{"), []byte(`{"priv_key": null, `), 1),
		`name "Priv_Key"`:         bytes.Replace(text, []byte(`"priv_key"`), []byte(`"Priv_Key"`), 1),
	} {
		require.NoError(t, os.WriteFile(path, bad, 0o600))
		_, err = new(Keystore).LoadValidatorKey(path)
		require.ErrorContains(t, err, says)
	}
}
