package app

import (
	"crypto/ed25519"
	"crypto/sha256"
	"fmt"

	"github.com/spdl/spdl/app/leader"
	"github.com/spdl/spdl/app/params"
)

// Bounds of what people read about a participant, in bytes.
const (
	MaxMoniker = 70 // CometBFT's bound
	maxAddress = 256
)

// Power is the voting power of a participant's validator.
const Power = 10

// Identity is a participant's public side, as it registers it.
type Identity struct {
	PubKey       []byte // ed25519
	VrfKey       []byte // edwards25519
	ConsensusKey []byte // ed25519 of its validator; nil for a worker alone
	Moniker      string
	Address      string
}

// ParticipantID returns the 256-bit id of the paper, SHA-256 of the public key. It
// stays when the key is rotated.
func ParticipantID(pub []byte) [32]byte { return sha256.Sum256(pub) }

// NewParticipant returns a participant as it begins.
func NewParticipant(index uint32, who Identity, r params.Reputation) Participant {
	id := ParticipantID(who.PubKey)
	return Participant{
		Index: index, Id: id[:], Moniker: who.Moniker, Address: who.Address, PubKey: who.PubKey, VrfKey: who.VrfKey,
		ConsensusKey: who.ConsensusKey, Reputation: r.Initial, Active: true,
	}
}

// Check refuses what is not well-formed.
func (who Identity) Check() error {
	if n := len(who.PubKey); n != ed25519.PublicKeySize {
		return fmt.Errorf("pub_key has %d bytes, want %d", n, ed25519.PublicKeySize)
	}
	if err := leader.CheckKey(who.VrfKey); err != nil {
		return fmt.Errorf("vrf_key: %w", err)
	}
	if n := len(who.ConsensusKey); n != 0 && n != ed25519.PublicKeySize {
		return fmt.Errorf("consensus_key has %d bytes, want 0 or %d", n, ed25519.PublicKeySize)
	}
	if err := params.CheckText("moniker", who.Moniker, MaxMoniker); err != nil {
		return err
	}
	return params.CheckText("address", who.Address, maxAddress)
}

// signingKeys returns the keys whose signatures bind a participant.
func (p *Participant) signingKeys() []ed25519.PublicKey {
	keys := []ed25519.PublicKey{p.PubKey}
	for _, k := range p.FormerKeys {
		keys = append(keys, k)
	}
	return keys
}
