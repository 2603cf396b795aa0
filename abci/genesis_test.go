package abci_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cometbft/cometbft/crypto"
	"github.com/cometbft/cometbft/crypto/ed25519"
	"github.com/cometbft/cometbft/crypto/secp256k1"
	cmtjson "github.com/cometbft/cometbft/libs/json"
	"github.com/cometbft/cometbft/types"
	"github.com/spdl/spdl/abci/genesis"
	"github.com/stretchr/testify/require"
)

// TestReadGenesisNames: a document that another reader could read differently is rejected.
func TestReadGenesisNames(t *testing.T) {
	for says, text := range map[string]string{
		"chain_id is given twice":              `{"chain_id": "a", "chain_id": "b"}`,
		`name "Chain_ID"`:                      `{"Chain_ID": "a"}`,
		"app_state.params.rule is given twice": `{"chain_id": "a", "app_state": {"params": {"rule": {}, "rule": {}}}}`,
	} {
		_, err := genesis.Read([]byte(text))
		require.ErrorContains(t, err, says)
	}
}

// TestReadGenesisValues: so are null, -0 and texts with a line break, in every part of the file.
func TestReadGenesisValues(t *testing.T) {
	for text, says := range map[string]string{
		`{"chain_id": "a", "validators": null}`:                           "validators: ambiguous value: null",
		`{"chain_id": "a", "consensus_params": {"block": null}}`:          "consensus_params.block: ambiguous value: null",
		`{"chain_id": "a", "app_state": {"params": {"clip": -0}}}`:        "app_state.params.clip: ambiguous value: -0",
		`{"chain_id": "a", "validators": [{"pub_key": {"value": "\n"}}]}`: "validators[0].pub_key.value: ambiguous value",
	} {
		_, err := genesis.Read([]byte(text))
		require.ErrorContains(t, err, says)
	}
}

// TestCutOffGenesis: the error of a file that is no JSON has the file, its size and the remedy.
func TestCutOffGenesis(t *testing.T) {
	path := filepath.Join(t.TempDir(), "genesis.json")
	for text, cut := range map[string]bool{"": true, `{"chain_id": "c", "app_st`: true, `{"chain_id": ""}`: false} {
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		_, err := genesis.ReadFile(path)
		require.ErrorContains(t, err, path)
		says := fmt.Sprintf("%s, of %d bytes, is cut off or damaged: take the file of another member", path, len(text))
		require.Equal(t, cut, strings.Contains(err.Error(), says), err)
	}
	require.NoError(t, os.WriteFile(path, []byte("\x1f\x8b archive"), 0o600))
	_, err := genesis.ReadFile(path)
	require.ErrorContains(t, err, path+` is no genesis file: it begins with "\x1f\x8b archi"`)
}

// TestReadGenesis: a genesis on which CometBFT would panic, when it reads it or starts from it, is
// rejected with an error that names the wrong validator.
func TestReadGenesis(t *testing.T) {
	validator := func(i int, power int64) types.GenesisValidator {
		return types.GenesisValidator{PubKey: ed25519.GenPrivKeyFromSecret([]byte{byte(i)}).PubKey(), Power: power,
			Name: fmt.Sprint("v", i)}
	}
	of := func(key crypto.PubKey) types.GenesisValidator {
		return types.GenesisValidator{PubKey: key, Power: 10, Name: "odd"}
	}
	for says, validators := range map[string][]types.GenesisValidator{
		`validator 0 ("odd") has a pub_key of type ed25519 and 3 bytes, want ed25519 and 32`: {of(ed25519.PubKey{1, 2,
			3})},
		`validator 1 ("odd") has a pub_key of type ed25519 and 0 bytes, want ed25519 and 32`: {validator(0, 10),
			of(ed25519.PubKey{})},
		`validator 0 ("odd") has a pub_key of type secp256k1 and 2 bytes, want ed25519 and 32`: {of(secp256k1.PubKey{1, 2})},
		`validator 0 ("odd") has a pub_key of type secp256k1 and 33 bytes, want ed25519 and 32`: {
			of(secp256k1.GenPrivKey().PubKey())},
		"":                                       {validator(0, 10), validator(1, 10)},
		`validator 1 ("keyless") has no pub_key`: {validator(0, 10), {Name: "keyless", Power: 10}},
		`validator 0 ("addressed") has no pub_key`:         {{Name: "addressed", Power: 10, Address: make([]byte, 20)}},
		`validator 1 ("v1") has power -1, want at least 1`: {validator(0, 10), validator(1, -1)},
		`validator 0 ("v0") has power 0, want at least 1`:  {validator(0, 0)},
		"duplicate entry":              {validator(0, 10), validator(0, 10)},
		"voting power can't be higher": {validator(0, 1<<62), validator(1, 1<<62)},
	} {
		data, err := cmtjson.Marshal(types.GenesisDoc{ChainID: "c", Validators: validators, AppState: json.RawMessage("{}")})
		require.NoError(t, err)
		data = bytes.ReplaceAll(data, []byte(`"pub_key":null,`), nil)
		path := filepath.Join(t.TempDir(), "genesis.json")
		require.NoError(t, os.WriteFile(path, data, 0o600))
		var doc *types.GenesisDoc
		require.NotPanics(t, func() { doc, err = genesis.ReadFile(path) }, says)
		if says == "" {
			require.NoError(t, err)
			require.Equal(t, int64(1), doc.InitialHeight)
			continue
		}
		require.ErrorContains(t, err, says)
		require.ErrorContains(t, err, path)
	}
}
