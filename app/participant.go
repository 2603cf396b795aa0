package app

import (
	"crypto/ed25519"
	"crypto/sha256"
	"fmt"
	"unicode"
	"unicode/utf8"

	"github.com/spdl/spdl/app/leader"
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

// ParticipantID is the 256-bit id of the paper, SHA-256 of the public key. It
// stays when the key is rotated.
func ParticipantID(pub []byte) [32]byte { return sha256.Sum256(pub) }

// NewParticipant is a participant as it begins.
func NewParticipant(index uint32, who Identity, r Reputation) Participant {
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
	if err := checkText("moniker", who.Moniker, MaxMoniker); err != nil {
		return err
	}
	return checkText("address", who.Address, maxAddress)
}

// checkText keeps out what breaks a terminal or a table; what a web page must
// escape is the page's to escape.
func checkText(name, text string, limit int) error {
	if len(text) > limit {
		return fmt.Errorf("%s has %d bytes, at most %d", name, len(text), limit)
	}
	if !utf8.ValidString(text) {
		return fmt.Errorf("%s %q is not UTF-8", name, text)
	}
	for _, r := range text {
		if !unicode.IsPrint(r) {
			return fmt.Errorf("%s %q has the character %U, which does not print", name, text, r)
		}
	}
	return nil
}

// signingKeys are the keys whose signatures bind a participant.
func (p *Participant) signingKeys() []ed25519.PublicKey {
	keys := []ed25519.PublicKey{p.PubKey}
	for _, k := range p.FormerKeys {
		keys = append(keys, k)
	}
	return keys
}
