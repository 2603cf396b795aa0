package node

import (
	stded25519 "crypto/ed25519"
	"fmt"
	"os"

	"github.com/cometbft/cometbft/crypto"
	"github.com/cometbft/cometbft/crypto/ed25519"
	cmtjson "github.com/cometbft/cometbft/libs/json"
	"github.com/cometbft/cometbft/libs/tempfile"

	"github.com/spdl/spdl/app/worker"
)

// participantKeys is config/participant_key.json, in the form of CometBFT's key
// files: the key that signs, and the one that draws lots.
type participantKeys struct {
	PubKey     crypto.PubKey  `json:"pub_key"`
	PrivKey    crypto.PrivKey `json:"priv_key"`
	VRFPubKey  crypto.PubKey  `json:"vrf_pub_key"`
	VRFPrivKey crypto.PrivKey `json:"vrf_priv_key"`
}

// NewKeys makes a participant's keys in a new file.
func NewKeys(path string) (worker.Keys, error) {
	if _, err := os.Stat(path); err == nil {
		return worker.Keys{}, fmt.Errorf("%s exists already", path)
	}
	sign, vrf := ed25519.GenPrivKey(), ed25519.GenPrivKey()
	data, err := cmtjson.MarshalIndent(participantKeys{sign.PubKey(), sign, vrf.PubKey(), vrf}, "", "  ")
	if err != nil {
		return worker.Keys{}, err
	}
	return worker.Keys{Signing: stded25519.PrivateKey(sign), VRF: stded25519.PrivateKey(vrf)}, tempfile.WriteFileAtomic(path, data, 0o600)
}

// LoadKeys reads a participant's key file.
func LoadKeys(path string) (worker.Keys, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return worker.Keys{}, fmt.Errorf("participant key: %w", err)
	}
	var k participantKeys
	if err := cmtjson.Unmarshal(data, &k); err != nil {
		return worker.Keys{}, fmt.Errorf("participant key %s: %w", path, err)
	}
	var keys worker.Keys
	for _, part := range []struct {
		field string
		from  crypto.PrivKey
		into  *stded25519.PrivateKey
	}{{"priv_key", k.PrivKey, &keys.Signing}, {"vrf_priv_key", k.VRFPrivKey, &keys.VRF}} {
		priv, ok := part.from.(ed25519.PrivKey)
		if !ok || len(priv) != stded25519.PrivateKeySize {
			return keys, fmt.Errorf("participant key %s: %s is a %T of %d bytes, want ed25519 of %d", path, part.field, part.from, len(priv), stded25519.PrivateKeySize)
		}
		*part.into = stded25519.PrivateKey(priv)
	}
	return keys, nil
}
