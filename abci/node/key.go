package node

import (
	stded25519 "crypto/ed25519"
	"fmt"
	"os"

	"github.com/cometbft/cometbft/crypto"
	"github.com/cometbft/cometbft/crypto/ed25519"
	cmtjson "github.com/cometbft/cometbft/libs/json"
	"github.com/cometbft/cometbft/libs/tempfile"
)

// participantKey is config/participant_key.json, in the form of CometBFT's key
// files.
type participantKey struct {
	PubKey  crypto.PubKey  `json:"pub_key"`
	PrivKey crypto.PrivKey `json:"priv_key"`
}

// NewKey makes a participant key in a new file.
func NewKey(path string) (stded25519.PrivateKey, error) {
	if _, err := os.Stat(path); err == nil {
		return nil, fmt.Errorf("%s exists already", path)
	}
	priv := ed25519.GenPrivKey()
	data, err := cmtjson.MarshalIndent(participantKey{PubKey: priv.PubKey(), PrivKey: priv}, "", "  ")
	if err != nil {
		return nil, err
	}
	return stded25519.PrivateKey(priv), tempfile.WriteFileAtomic(path, data, 0o600)
}

// LoadKey reads a participant key file.
func LoadKey(path string) (stded25519.PrivateKey, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("participant key: %w", err)
	}
	var k participantKey
	if err := cmtjson.Unmarshal(data, &k); err != nil {
		return nil, fmt.Errorf("participant key %s: %w", path, err)
	}
	priv, ok := k.PrivKey.(ed25519.PrivKey)
	if !ok || len(priv) != stded25519.PrivateKeySize {
		return nil, fmt.Errorf("participant key %s is a %T of %d bytes, want ed25519 of %d", path, k.PrivKey, len(priv), stded25519.PrivateKeySize)
	}
	return stded25519.PrivateKey(priv), nil
}
