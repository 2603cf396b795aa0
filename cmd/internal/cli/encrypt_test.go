package cli

import (
	"encoding/hex"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/cmd/internal/cli/command"
	"github.com/spdl/spdl/internal/stage"
)

// TestEncryptCommands: the passphrase comes from a file descriptor or a systemd credential, once for
// all keys, and each command that needs a key takes it.
func TestEncryptCommands(t *testing.T) {
	stage.OnlyLong(t)
	dir := initHome(t, "mine")
	keys, err := new(home.Keystore).LoadKeys(filepath.Join(dir, "config/participant_key.json"))
	require.NoError(t, err)
	credentials := t.TempDir()
	secret, other := filepath.Join(credentials, "spdl-passphrase"), filepath.Join(t.TempDir(), "other")
	require.NoError(t, os.WriteFile(secret, []byte("correct horse battery\n"), 0o600))
	require.NoError(t, os.WriteFile(other, []byte("staple of a battery horse\n"), 0o600))

	_, stderr, code := spdlWith(t, nil, "keys", "encrypt", "--home", dir)
	require.Equal(t, command.WrongUse, code)
	require.Contains(t, stderr, "no terminal")
	stdout, stderr, code := spdlWith(t, []string{secret}, "keys", "encrypt", "--home", dir, "--passphrase-fd", "3")
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "priv_validator_key.json")
	stdout, stderr, code = spdlWith(t, []string{secret}, "keys", "encrypt", "--home", dir, "--passphrase-fd", "3")
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "all are so already")

	_, stderr, code = spdlWith(t, nil, "show-node-id", "--home", dir)
	require.Equal(t, command.WrongUse, code)
	require.Contains(t, stderr, "key is encrypted")
	for fd := 3; fd < 12; fd++ { // the runtime's own, or none
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			continue // open in the parents of the test, and so in the command
		}
		_, stderr, code = spdlWith(t, nil, "show-node-id", "--home", dir, "--passphrase-fd", strconv.Itoa(fd))
		require.Equal(t, command.WrongUse, code, stderr)
		require.Contains(t, stderr, fmt.Sprintf("file descriptor %d of the passphrase is not open: give it a file", fd))
	}
	_, stderr, code = spdlWith(t, []string{other}, "keys", "show", "--home", dir, "--passphrase-fd", "3")
	require.Equal(t, command.Failure, code)
	require.Contains(t, stderr, "the passphrase does not open")
	stdout, stderr, code = spdlWith(t, []string{secret}, "keys", "show", "--home", dir, "--passphrase-fd", "3")
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, hex.EncodeToString(keys.Public()))
	t.Setenv("CREDENTIALS_DIRECTORY", credentials)
	_, stderr, code = spdlWith(t, nil, "show-validator", "--home", dir)
	require.Zero(t, code, stderr)

	_, stderr, code = spdlWith(t, []string{secret}, "keys", "passwd", "--home", dir, "--passphrase-fd", "3")
	require.Equal(t, command.WrongUse, code)
	require.Contains(t, stderr, "ask for the new passphrase of the keys at: name a file descriptor, as "+
		"--new-passphrase-fd 4 4< FILE")
	_, stderr, code = spdlWith(t, []string{secret, other}, "keys", "passwd", "--home", dir, "--passphrase-fd", "3",
		"--new-passphrase-fd", "4")
	require.Zero(t, code, stderr)
	_, stderr, code = spdlWith(t, nil, "show-node-id", "--home", dir)
	require.Equal(t, command.Failure, code, "the credential is the former passphrase")
	require.Contains(t, stderr, "the passphrase does not open")
	_, stderr, code = spdlWith(t, []string{other}, "keys", "decrypt", "--home", dir, "--passphrase-fd", "3")
	require.Zero(t, code, stderr)
	again, err := new(home.Keystore).LoadKeys(filepath.Join(dir, "config/participant_key.json"))
	require.NoError(t, err)
	require.Equal(t, keys, again)

	fresh := filepath.Join(t.TempDir(), "fresh")
	_, stderr, code = spdlWith(t, []string{other}, "init", "--home", fresh, "--encrypt", "--passphrase-fd", "3")
	require.Zero(t, code, stderr)
	_, err = new(home.Keystore).LoadKeys(filepath.Join(fresh, "config/participant_key.json"))
	require.ErrorIs(t, err, home.ErrLocked)
}
