package home

import (
	"context"
	"crypto/ed25519"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/user"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/cometbft/cometbft/config"

	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/app/worker"
	"github.com/spdl/spdl/app/worker/consent"
	"github.com/spdl/spdl/app/worker/signer"
)

// askSigner is the max time that OpenParticipant waits for the signer's public keys.
const askSigner = 3 * time.Second

// Validate checks the settings.
func (s SignerConfig) Validate() error {
	if s.Listen != "" {
		if err := signer.CheckAddress(s.Listen); err != nil {
			return fmt.Errorf("signer.listen: %w", err)
		}
	}
	for _, word := range s.Allow {
		if !slices.Contains(signer.Kinds(), word) {
			return fmt.Errorf("signer.allow has %q, want of %q", word, signer.Kinds())
		}
	}
	if !(s.Rate > 0) {
		return fmt.Errorf("signer.rate is %g, want above 0", s.Rate)
	}
	return nil
}

// UserIDs returns the numeric ids of the users in Users. It fails if a name is not a user of this host.
func (s SignerConfig) UserIDs() (ids []uint32, err error) {
	for _, name := range s.Users {
		number := name
		if u, err := user.Lookup(name); err == nil {
			number = u.Uid
		}
		id, err := strconv.ParseUint(number, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("signer.users has %q, which is no user of this host", name)
		}
		ids = append(ids, uint32(id))
	}
	return ids, nil
}

// Participant is a home's participant: the public keys, and either the private keys or the signer
// that has the private keys.
type Participant struct {
	worker.PublicKeys
	Keys   worker.Keys    // zero if a signer has the keys
	Signer *signer.Client // nil if the home has the keys
}

// ParticipantWith returns the participant with these private keys.
func ParticipantWith(keys worker.Keys) Participant {
	return Participant{PublicKeys: worker.PublicKeys{Signing: keys.Public(), VRF: keys.VRF.Public().(ed25519.PublicKey)},
		Keys: keys}
}

// OpenParticipant returns a home's participant, with the private keys of the home or with the
// signer at worker.signer. If the signer does not answer, the public keys are those of its last
// answer to this home, or empty if it has never answered.
func OpenParticipant(ctx context.Context, c *config.Config, a AppConfig, s *Keystore) (Participant, error) {
	file := InHome(c, a.Worker.KeyFile)
	if a.Worker.Signer == "" {
		keys, err := s.LoadKeys(file)
		if err != nil {
			return Participant{}, err
		}
		return ParticipantWith(keys), nil
	}
	if _, err := os.Stat(file); err == nil {
		return Participant{}, fmt.Errorf("worker.signer is %q, and %s exists: two processes would sign with one key "+
			"(spdl signer init goes on if it was cut off)", a.Worker.Signer, file)
	}
	client, err := signer.New(a.Worker.Signer, InHome(c, a.Worker.SignerCerts))
	if err != nil {
		return Participant{}, fmt.Errorf("worker.signer: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, askSigner)
	defer cancel()
	known, err := readPublic(c)
	if err != nil {
		return Participant{}, err
	}
	answered, err := client.Keys(ctx, false)
	if err != nil { // client.Away returns the reason
		return Participant{PublicKeys: known, Signer: client}, nil
	}
	if !answered.Signing.Equal(known.Signing) || !answered.VRF.Equal(known.VRF) {
		err = writePublic(publicFile(c), answered)
	}
	return Participant{PublicKeys: answered, Signer: client}, err
}

// CheckKnown returns an error if the public keys are unknown, because the signer has never answered.
func (p Participant) CheckKnown() error {
	if p.Signing == nil {
		return fmt.Errorf("%s: start it (spdl signer)", p.Signer.Away())
	}
	return nil
}

// Sign signs an operation with the home's key, or asks the signer to sign it.
func (p Participant) Sign(ctx context.Context, chainID string, body tx.Body) (*tx.Tx, error) {
	if p.Signer == nil {
		return tx.Sign(chainID, body, p.Keys.Signing)
	}
	t, err := p.Signer.Operation(ctx, chainID, body)
	return t, withSignerRemedy(err)
}

// Consent signs a record of consent with the home's key, or asks the signer to sign it.
func (p Participant) Consent(ctx context.Context, about consent.Subject, d consent.Decision) (consent.Record, error) {
	if p.Signer == nil {
		return consent.Sign(about, d, time.Now(), p.Keys.Signing)
	}
	r, err := p.Signer.Consent(ctx, about, d)
	return r, withSignerRemedy(err)
}

// withSignerRemedy adds a remedy to the error of a request that the signer does not allow (signer.ErrDenied).
func withSignerRemedy(err error) error {
	if errors.Is(err, signer.ErrDenied) {
		return fmt.Errorf("%w: allow it there, or run this command with the signer's home", err)
	}
	return err
}

// publicFile returns the path of the file with the participant's public keys, for a home whose
// private keys are at a signer.
func publicFile(c *config.Config) string {
	return filepath.Join(c.RootDir, "config", "participant.pub.json")
}

func readPublic(c *config.Config) (keys worker.PublicKeys, err error) {
	data, err := os.ReadFile(publicFile(c))
	if errors.Is(err, os.ErrNotExist) {
		return keys, nil
	}
	if err == nil {
		err = json.Unmarshal(data, &keys)
	}
	if err == nil && (len(keys.Signing) != ed25519.PublicKeySize || len(keys.VRF) != ed25519.PublicKeySize) {
		err = fmt.Errorf("keys of %d and %d bytes, want %d each", len(keys.Signing), len(keys.VRF), ed25519.PublicKeySize)
	}
	if err != nil {
		return keys, fmt.Errorf("%s: %w; remove it, and it is written again", publicFile(c), err)
	}
	return keys, nil
}

func writePublic(path string, keys worker.PublicKeys) error {
	data, err := json.MarshalIndent(keys, "", "  ")
	if err != nil {
		return err
	}
	return replaceFile(path, append(data, '\n'))
}
