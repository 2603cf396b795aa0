package cli

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cometbft/cometbft/types"
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
	keys, err := home.LoadKeys(filepath.Join(dir, "config/participant_key.json"))
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

// TestSharedGenesis: a consortium makes its genesis out of entries, and nobody
// sees another's private keys.
func TestSharedGenesis(t *testing.T) {
	seed, dir := strings.Repeat("5a", 32), t.TempDir()
	give := func(member, chainID, seed string, more ...string) string {
		stdout, stderr, code := spdl(t, append([]string{"genesis", "entry", "--home", member, "--chain-id", chainID, "--seed",
			seed}, more...)...)
		require.Zero(t, code, stderr)
		requireNoSecret(t, member, stdout)
		files, err := os.ReadDir(dir)
		require.NoError(t, err)
		file := filepath.Join(dir, fmt.Sprintf("%d.json", len(files)))
		require.NoError(t, os.WriteFile(file, []byte(stdout), 0o600))
		return file
	}
	homes := []string{initHome(t, "a"), initHome(t, "b"), initHome(t, "c"), initHome(t, "d")}
	_, stderr, code := spdl(t, "genesis", "entry", "--home", homes[0], "--chain-id", "ours", "--seed", seed, "--moniker",
		strings.Repeat("m", 71))
	require.Equal(t, command.WrongUse, code, stderr)
	require.Contains(t, stderr, "moniker has 71 bytes, at most 70")
	var entries []string
	for _, member := range homes[:3] {
		entries = append(entries, give(member, "ours", seed))
	}
	entries = append(entries, give(homes[3], "ours", seed, "--worker-only", "--moniker", "dee", "--address",
		"dee.example:1"))

	out := filepath.Join(t.TempDir(), "genesis.json")
	found := func(args ...string) (string, string, int) {
		return spdl(t, append([]string{"genesis", "new", "--chain-id", "ours"}, args...)...)
	}
	stdout, stderr, code := found(append([]string{"--preset", "default", "--rounds", "7", "--out", out}, entries...)...)
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, "participants  4")
	require.NotContains(t, stderr, "warning: rule ")
	doc, err := types.GenesisDocFromFile(out)
	require.NoError(t, err)
	g, _, err := home.CheckGenesis(doc)
	require.NoError(t, err)
	require.Len(t, doc.Validators, 3)
	require.Equal(t, seed, hex.EncodeToString(g.Seed))
	require.Equal(t, uint64(7), g.Params.Training.Rounds)
	require.Equal(t, "dee", g.Participants[3].Moniker)
	require.Equal(t, "dee.example:1", g.Participants[3].Address)
	_, stderr, code = spdl(t, "genesis", "validate", out)
	require.Zero(t, code, stderr)

	for epsilon, text := range map[string]string{"0.1": "does not pay for 100 rounds, which cost", "-3": "--epsilon is -3",
		"0": "--epsilon is 0"} {
		_, stderr, code = found(append([]string{"--epsilon", epsilon}, entries...)...)
		require.Equal(t, 2, code)
		require.Contains(t, stderr, text)
	}
	for text, flags := range map[string][]string{
		"rule.tolerance is -1":                     {"--tolerance", "-1"},
		"of the clip norm): want at most 16":       {"--tolerance", "17"},
		"without a clip norm nothing bounds what ": {"--tolerance", "1", "--preset", "paper"},
	} {
		_, stderr, code = found(append(flags, entries...)...)
		require.Equal(t, command.WrongUse, code)
		require.Contains(t, stderr, text)
	}
	stdout, stderr, code = found(append([]string{"--tolerance", "16"}, entries...)...)
	require.Zero(t, code, stderr)
	require.Contains(t, stdout, `"tolerance": 16`)
	_, stderr, code = found(append([]string{"--preset", "paper", "--epsilon", "2"}, entries...)...)
	require.Equal(t, 2, code)
	require.Contains(t, stderr, "which guarantees none")
	literal := filepath.Join(t.TempDir(), "literal.json")
	_, stderr, code = found(append([]string{"--preset", "paper-lemma1", "--rounds", "50", "--out", literal},
		entries...)...)
	require.Zero(t, code, stderr)
	for _, warning := range []string{"rule.zeros", "rule.unsquared", "privacy.lemma1_epsilon is 0.02", "NO GUARANTEE"} {
		require.Contains(t, stderr, warning)
	}
	doc, err = types.GenesisDocFromFile(literal)
	require.NoError(t, err)
	g, _, err = home.CheckGenesis(doc)
	require.NoError(t, err)
	require.Equal(t, uint64(50), g.Params.Election.Term, "one leader for all rounds")
	require.InDelta(t, 132.47, g.Params.Privacy.NoiseMultiplier, 0.01, "Lemma 1's noise for 50 rounds")
	_, stderr, code = found(append([]string{"--out", out}, entries...)...)
	require.Equal(t, 1, code)
	require.Contains(t, stderr, "exists", "nothing is overwritten")
	stdout, _, code = found(append([]string{"--seed", seed}, entries...)...)
	require.Zero(t, code)
	_, err = types.GenesisDocFromJSON([]byte(stdout))
	require.NoError(t, err)

	_, stderr, code = found("--rule", "nothing", entries[0])
	require.Equal(t, command.WrongUse, code, "a flag's wrong value is wrong use")
	require.Contains(t, stderr, `"nothing"`)

	noProof := make([]byte, 80)
	odd := func(change func(map[string]any)) string {
		data, err := os.ReadFile(entries[1])
		require.NoError(t, err)
		var e map[string]any
		require.NoError(t, json.Unmarshal(data, &e))
		change(e)
		data, err = json.Marshal(e)
		require.NoError(t, err)
		file := filepath.Join(t.TempDir(), "odd.json")
		require.NoError(t, os.WriteFile(file, data, 0o600))
		return file
	}
	for says, args := range map[string][]string{
		"have one key":                {entries[0], entries[0]},
		`entry is for chain "others"`: {entries[0], give(homes[1], "others", seed)},
		"entry is for seed 11":        {entries[0], give(homes[1], "ours", strings.Repeat("11", 32))},
		"want 2222":                   {"--seed", strings.Repeat("22", 32), entries[0]},
		"a chain needs a validator":   {entries[3]},
		"vrf_proof over the seed": {odd(func(e map[string]any) {
			e["vrf_proof"] = base64.StdEncoding.EncodeToString(noProof)
		})},
		`unknown field "power"`:         {odd(func(e map[string]any) { e["power"] = 100 })},
		"consensus_key: invalid key: 3": {odd(func(e map[string]any) { e["consensus_key"] = "AAAA" })},
		"printable ASCII alone":         {odd(func(e map[string]any) { e["moniker"] = "\x1b[2J" })},
		"--byzantine is 1 with 1":       {"--byzantine", "1", entries[0]},
		"--params and --preset: one of": {"--params", "x", "--preset", "y", entries[0]},
		`unknown preset "y"`:            {"--preset", "y", entries[0]},
	} {
		_, stderr, code := found(args...)
		require.NotZero(t, code, says)
		require.Contains(t, stderr, says)
		require.NotContains(t, stderr, "panic")
		require.NotContains(t, stderr, "\x1b")
	}
}

func TestKeys(t *testing.T) {
	dir := initHome(t, "mine")
	keys, err := home.LoadKeys(filepath.Join(dir, "config/participant_key.json"))
	require.NoError(t, err)
	for _, form := range []string{"text", "json"} {
		stdout, stderr, code := spdl(t, "keys", "show", "--home", dir, "-o", form)
		require.Zero(t, code, stderr)
		require.Contains(t, stdout, hex.EncodeToString(keys.Public()))
		require.Contains(t, stdout, base64.StdEncoding.EncodeToString(keys.Public()))
		requireNoSecret(t, dir, stdout)
		id, _, _ := spdl(t, "show-node-id", "--home", dir)
		require.Contains(t, stdout, strings.TrimSpace(id))
	}
	file := filepath.Join(t.TempDir(), "new.json")
	stdout, stderr, code := spdl(t, "keys", "new", file)
	require.Zero(t, code, stderr)
	keys, err = home.LoadKeys(file)
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
