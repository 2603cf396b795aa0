package home

import (
	"bytes"
	stded25519 "crypto/ed25519"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/cometbft/cometbft/config"
	"github.com/cometbft/cometbft/crypto"
	"github.com/cometbft/cometbft/crypto/ed25519"
	cmtjson "github.com/cometbft/cometbft/libs/json"
	"github.com/cometbft/cometbft/libs/log"
	"github.com/cometbft/cometbft/libs/tempfile"
	"github.com/cometbft/cometbft/p2p"
	"github.com/cometbft/cometbft/privval"

	"github.com/spdl/spdl/app/worker"
	"github.com/spdl/spdl/internal/strictjson"
)

// participantKeys is the content of config/participant_key.json, in the form of CometBFT's key
// files: the signing key, and the key for VRF proofs.
type participantKeys struct {
	PubKey     crypto.PubKey  `json:"pub_key"`
	PrivKey    crypto.PrivKey `json:"priv_key"`
	VRFPubKey  crypto.PubKey  `json:"vrf_pub_key"`
	VRFPrivKey crypto.PrivKey `json:"vrf_priv_key"`
}

// NewKeys makes a participant's keys in a new file.
func (s *Keystore) NewKeys(path string) (worker.Keys, error) {
	keys := GenerateKeys()
	return keys, s.WriteKeys(path, keys)
}

// GenerateKeys makes new keys for a participant.
func GenerateKeys() worker.Keys {
	return worker.Keys{Signing: stded25519.PrivateKey(ed25519.GenPrivKey()),
		VRF: stded25519.PrivateKey(ed25519.GenPrivKey())}
}

// WriteKeys writes a participant's keys to a new file and syncs the file to the disk, because a key
// that the chain has registered must not be lost. It fails if the file exists.
func (s *Keystore) WriteKeys(path string, keys worker.Keys) error {
	sign, vrf := ed25519.PrivKey(keys.Signing), ed25519.PrivKey(keys.VRF)
	return s.writeKey(path, participantKeys{sign.PubKey(), sign, vrf.PubKey(), vrf})
}

// writeKey writes a key in CometBFT's form to a new file.
func (s *Keystore) writeKey(path string, key any) error {
	if _, err := os.Stat(path); err == nil {
		return fmt.Errorf("%s exists already: name another file", path)
	}
	data, err := cmtjson.MarshalIndent(key, "", "  ")
	if err != nil {
		return err
	}
	return s.write(path, data)
}

// newNodeKey makes a node key, from which the node's p2p id follows, in a new file.
func (s *Keystore) newNodeKey(path string) (*p2p.NodeKey, error) {
	key := &p2p.NodeKey{PrivKey: ed25519.GenPrivKey()}
	return key, s.writeKey(path, key)
}

// newValidator makes a validator's key in a new file, and the state of a validator that has signed
// nothing. It returns the public key.
func (s *Keystore) newValidator(path, state string) (crypto.PubKey, error) {
	pv := privval.GenFilePV("", state)
	pv.LastSignState.Save()
	return pv.Key.PubKey, s.writeKey(path, pv.Key)
}

// NextKeyFile returns the path of the file in which a rotation stores the next keys of a key file.
func NextKeyFile(path string) string { return path + ".next" }

// ReplaceKeys replaces the keys in a key file by the keys in its NextKeyFile. The former keys stay
// in the file backup, whose name contains their public key. The key file is never missing, because
// a worker may read it at any time: after a crash it has either the old or the new keys.
func (s *Keystore) ReplaceKeys(path string) (backup string, err error) {
	old, err := s.LoadKeys(path)
	if err != nil {
		return "", err
	}
	if _, err := s.LoadKeys(NextKeyFile(path)); err != nil {
		return "", err
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	for n := 1; ; n++ { // this backup may exist: a rotation of only the VRF key keeps its name
		backup = fmt.Sprintf("%s.%x.old", path, []byte(old.Public()[:4]))
		if n > 1 {
			backup = fmt.Sprintf("%s.%d", backup, n)
		}
		before, err := os.ReadFile(backup)
		if err == nil && bytes.Equal(before, data) {
			break
		}
		if errors.Is(err, os.ErrNotExist) {
			if err := replaceFile(backup, data); err != nil {
				return "", err
			}
			break
		}
		if err != nil {
			return "", err
		}
	}
	if err := os.Chmod(NextKeyFile(path), 0o600); err != nil {
		return backup, err
	}
	return backup, errors.Join(os.Rename(NextKeyFile(path), path), SyncFolder(path))
}

// replaceFile writes a secret file atomically. Tests set replaceFile to a function that fails.
var replaceFile = replaceSecret

// replaceSecret writes a secret file atomically: it writes a new file with mode 0600, syncs it to
// the disk, and renames it.
func replaceSecret(path string, data []byte) error {
	if err := tempfile.WriteFileAtomic(path, data, 0o600); err != nil {
		return err
	}
	return SyncFolder(path)
}

// SyncFolder syncs the folder of a file to the disk, so that a rename in the folder survives a crash.
func SyncFolder(path string) error {
	d, err := os.Open(filepath.Dir(path))
	if err != nil {
		return err
	}
	return errors.Join(d.Sync(), d.Close())
}

// LoadKeys reads a participant's key file.
func (s *Keystore) LoadKeys(path string) (worker.Keys, error) {
	var k participantKeys
	if err := s.readKey("participant key", path, &k); err != nil {
		return worker.Keys{}, err
	}
	var keys worker.Keys
	for _, part := range []struct {
		field string
		from  crypto.PrivKey
		into  *stded25519.PrivateKey
	}{{"priv_key", k.PrivKey, &keys.Signing}, {"vrf_priv_key", k.VRFPrivKey, &keys.VRF}} {
		if err := checkEd25519(part.from); err != nil {
			return keys, fmt.Errorf("participant key %s: %s %w", path, part.field, err)
		}
		*part.into = stded25519.PrivateKey(part.from.Bytes())
	}
	return keys, nil
}

// LoadNodeKey reads a node key, from which the node's p2p id follows.
func (s *Keystore) LoadNodeKey(path string) (*p2p.NodeKey, error) {
	key := new(p2p.NodeKey)
	if err := s.readKey("node key", path, key); err != nil {
		return nil, err
	}
	if err := checkEd25519(key.PrivKey); err != nil {
		return nil, fmt.Errorf("node key %s: priv_key %w", path, err)
	}
	return key, nil
}

// LoadValidatorKey reads a validator's key file. CometBFT's reader would end the process, or panic,
// if the file is missing or damaged.
func (s *Keystore) LoadValidatorKey(path string) (stded25519.PrivateKey, error) {
	var key privval.FilePVKey
	if err := s.readKey("validator key", path, &key); err != nil {
		return nil, err
	}
	if err := checkEd25519(key.PrivKey); err != nil {
		return nil, fmt.Errorf("validator key %s: priv_key %w", path, err)
	}
	if key.PubKey != nil && !key.PrivKey.PubKey().Equals(key.PubKey) {
		return nil, fmt.Errorf("validator key %s: priv_key does not go with pub_key", path)
	}
	return key.PrivKey.Bytes(), nil
}

// LostStateRemedy is the advice in errors about a validator's state that is missing, damaged or old.
const LostStateRemedy = "put its newest copy in place; if it is lost, move the data folder away: spdl start makes " +
	"another, and its validator signs nothing at first; at a signer, spdl tx rotate --consensus gives the validator a " +
	"new key"

// LoadValidator reads a validator's key and its state, which has the last signature. The returned
// validator writes the state to the file before it returns a signature. It never writes the key.
func (s *Keystore) LoadValidator(key, state string) (*privval.FilePV, error) {
	priv, err := s.LoadValidatorKey(key)
	if err != nil {
		return nil, err
	}
	last, err := ReadValidatorState(state)
	if err != nil && !errors.Is(err, os.ErrPermission) {
		err = fmt.Errorf("%w: it has the validator's last signature, so a validator without it may sign twice; %s", err,
			LostStateRemedy)
	}
	if err != nil {
		return nil, err
	}
	// FilePV gets no path for the key, so that it panics instead of writing the key in plain.
	pv := privval.NewFilePV(ed25519.PrivKey(priv), "", state)
	to := &pv.LastSignState
	to.Height, to.Round, to.Step, to.Signature, to.SignBytes = last.Height, last.Round, last.Step, last.Signature,
		last.SignBytes
	return pv, nil
}

// ReadValidatorState reads a validator's state file, which has its last signature.
func ReadValidatorState(path string) (last privval.FilePVLastSignState, err error) {
	err = new(Keystore).readKey("validator state", path, &last)
	return last, err
}

// LockValidator locks the state of a validator for this process until the result is closed. Without
// the lock a node and a signer, or two signers, could each sign with one state.
func LockValidator(c *config.Config) (io.Closer, error) {
	return worker.Lock(c.PrivValidatorStateFile())
}

// emptyState writes the state of a validator that has signed nothing.
func emptyState(path string) { privval.GenFilePV("", path).LastSignState.Save() }

// CheckRelay rejects a relay's home that has the key of a participant or a validator. Strangers can
// connect to a relay, so an intruder could get the key.
func CheckRelay(c *config.Config, a AppConfig) error {
	for _, path := range []string{InHome(c, a.Worker.KeyFile), c.PrivValidatorKeyFile()} {
		if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
			return errors.Join(err, fmt.Errorf("app.toml: node.role is %q, and %s exists: a relay holds no key but its "+
				"node's (spdl init --relay makes a home for one)", RoleRelay, path))
		}
	}
	return nil
}

// NoValidator returns a validator for a relay, with a new random key that no chain has. CometBFT
// does not run a node without a validator.
func NoValidator() *privval.FilePV { return privval.NewFilePV(ed25519.GenPrivKey(), "", "") }

// WarnReadable warns about key files that users other than their owner can access. It does not
// prevent the start, because the operator may have reasons for that access.
func WarnReadable(logger log.Logger, paths ...string) {
	for _, path := range paths {
		info, err := os.Stat(path)
		if err == nil && info.Mode().Perm()&0o077 != 0 {
			logger.Warn("key file is open to others, want mode 0600", "file", path, "mode",
				fmt.Sprintf("%#o", info.Mode().Perm()))
		}
	}
}

// readKey decodes a key file in CometBFT's form. Its errors name the file.
func (s *Keystore) readKey(what, path string, into any) error {
	data, err := s.read(path)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if err = strictjson.Names(data); err == nil {
		err = cmtjson.Unmarshal(data, into)
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", what, path, err)
	}
	return nil
}

// checkEd25519 rejects a key that is not a complete ed25519 private key, because the methods of
// an incomplete key would panic.
func checkEd25519(key crypto.PrivKey) error {
	priv, ok := key.(ed25519.PrivKey)
	if !ok || len(priv) != stded25519.PrivateKeySize {
		return fmt.Errorf("is a %T of %d bytes, want ed25519 of %d", key, len(priv), stded25519.PrivateKeySize)
	}
	return nil
}
