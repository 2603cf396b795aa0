// Package genesis reads CometBFT's genesis documents and checks that a chain of this application can start from them.
package genesis

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"

	"github.com/cometbft/cometbft/crypto/ed25519"
	cmtjson "github.com/cometbft/cometbft/libs/json"
	"github.com/cometbft/cometbft/types"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/internal/strictjson"
)

// Read decodes a genesis document from an untrusted source, and sets its missing values (Complete).
func Read(data []byte) (*types.GenesisDoc, error) {
	if err := strictjson.Exact(data); err != nil {
		return nil, err
	}
	doc := new(types.GenesisDoc)
	if err := cmtjson.Unmarshal(data, doc); err != nil {
		return nil, err
	}
	if err := Complete(doc); err != nil {
		return nil, err
	}
	return doc, nil
}

// ReadFile decodes the genesis document in a file.
func ReadFile(path string) (*types.GenesisDoc, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	doc, err := Read(data)
	if text := bytes.TrimSpace(data); err != nil && len(text) > 0 && text[0] != '{' {
		return nil, fmt.Errorf("%s is no genesis file: it begins with %q, want the JSON of genesis.json", path,
			data[:min(8, len(data))])
	}
	if err != nil && !json.Valid(data) {
		return nil, fmt.Errorf("%s, of %d bytes, is cut off or damaged: take the file of another member, and compare its "+
			"SHA-256 with the others' (sha256sum): %w", path, len(data), err)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return doc, nil
}

// Complete checks a document, and sets missing values, by CometBFT's ValidateAndComplete. It first rejects documents on
// which CometBFT would panic, in that call or at the start of a node: a validator without an ed25519 key, a duplicate
// key, a voting power below 1, or a total power above CometBFT's max.
func Complete(doc *types.GenesisDoc) error {
	validators := make([]*types.Validator, len(doc.Validators))
	for i, v := range doc.Validators {
		switch {
		case v.PubKey == nil:
			return fmt.Errorf("validator %d (%q) has no pub_key", i, v.Name)
		case v.PubKey.Type() != ed25519.KeyType || len(v.PubKey.Bytes()) != ed25519.PubKeySize:
			return fmt.Errorf("validator %d (%q) has a pub_key of type %s and %d bytes, want %s and %d",
				i, v.Name, v.PubKey.Type(), len(v.PubKey.Bytes()), ed25519.KeyType, ed25519.PubKeySize)
		case v.Power < 1:
			return fmt.Errorf("validator %d (%q) has power %d, want at least 1", i, v.Name, v.Power)
		}
		validators[i] = types.NewValidator(v.PubKey, v.Power)
	}
	if err := new(types.ValidatorSet).UpdateWithChangeSet(validators); err != nil {
		return fmt.Errorf("validators: %w", err)
	}
	return doc.ValidateAndComplete()
}

// CheckValidators rejects a genesis in which a participant's consensus key belongs to no validator
// with voting power app.Power.
func CheckValidators(doc *types.GenesisDoc, g app.Genesis) error {
	power := map[string]int64{}
	for _, v := range doc.Validators {
		power[string(v.PubKey.Bytes())] = v.Power
	}
	return g.CheckValidators(power)
}
