package cli

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/cmd/internal/cli/command"
)

// initHome makes a home and returns its folder.
func initHome(t *testing.T, moniker string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), moniker)
	_, stderr, code := spdl(t, "init", moniker, "--home", dir)
	require.Zero(t, code, stderr)
	return dir
}

// requireNoSecret checks that no private key of a home, in any form that one
// would print it in, is in a text.
func requireNoSecret(t *testing.T, dir, text string) {
	t.Helper()
	keys, err := new(home.Keystore).LoadKeys(filepath.Join(dir, "config/participant_key.json"))
	require.NoError(t, err)
	secrets := [][]byte{keys.Signing, keys.Signing.Seed(), keys.VRF, keys.VRF.Seed()}
	for _, file := range []string{"priv_validator_key.json", "node_key.json"} {
		data, err := os.ReadFile(filepath.Join(dir, "config", file))
		require.NoError(t, err)
		var k struct {
			PrivKey struct {
				Value []byte `json:"value"`
			} `json:"priv_key"`
		}
		require.NoError(t, json.Unmarshal(data, &k))
		require.Len(t, k.PrivKey.Value, 64, file)
		secrets = append(secrets, k.PrivKey.Value, k.PrivKey.Value[:32])
	}
	for _, s := range secrets {
		require.NotContains(t, text, hex.EncodeToString(s))
		require.NotContains(t, text, base64.StdEncoding.EncodeToString(s)[:40], "of 32 or 64 bytes")
	}
}

func TestKeys(t *testing.T) {
	dir := initHome(t, "mine")
	keys, err := new(home.Keystore).LoadKeys(filepath.Join(dir, "config/participant_key.json"))
	require.NoError(t, err)
	for _, form := range []string{"text", "json"} {
		stdout, stderr, code := spdl(t, "keys", "show", "--home", dir, "-o", form)
		require.Zero(t, code, stderr)
		require.Contains(t, stdout, hex.EncodeToString(keys.Public()))
		require.Contains(t, stdout, base64.StdEncoding.EncodeToString(keys.Public()))
		requireNoSecret(t, dir, stdout)
		id, _, _ := spdl(t, "show-node-id", "--home", dir)
		require.Contains(t, stdout, strings.TrimSpace(id))
		require.Contains(t, stdout, map[string]string{"text": "unless the signing key was rotated: no node of the home says",
			"json": `"registered": false`}[form])
	}
	file := filepath.Join(t.TempDir(), "new.json")
	stdout, stderr, code := spdl(t, "keys", "new", file)
	require.Zero(t, code, stderr)
	keys, err = new(home.Keystore).LoadKeys(file)
	require.NoError(t, err)
	require.Contains(t, stdout, hex.EncodeToString(keys.Public()))
	require.NotContains(t, stdout, hex.EncodeToString(keys.Signing.Seed()))
	stdout, stderr, code = spdl(t, "keys", "show", "--home", dir, "--key", file)
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, hex.EncodeToString(keys.Public()))

	require.NoError(t, os.WriteFile(filepath.Join(dir, "config/priv_validator_key.json"), []byte(`{"pub_key":null}`),
		0o600))
	_, stderr, code = spdl(t, "keys", "show", "--home", dir)
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "want ed25519", "CometBFT would have ended the process")

	// Whatever reads a damaged key file names it.
	for file, commands := range map[string][]string{
		"config/node_key.json":           {"show-node-id", "keys show", "start"},
		"config/priv_validator_key.json": {"show-validator", "keys show", "start", "unsafe-reset-all --yes"},
	} {
		damaged := initHome(t, "damaged")
		require.NoError(t, os.WriteFile(filepath.Join(damaged, file), []byte("{"), 0o600))
		for _, args := range commands {
			stdout, stderr, code := spdl(t, append(strings.Fields(args), "--home", damaged)...)
			require.Equal(t, command.Failure, code, args)
			require.Contains(t, stderr, filepath.Join(damaged, file), args)
			require.Empty(t, stdout, args)
		}
	}
}
