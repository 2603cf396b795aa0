package app

import (
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// One is a reputation of 1 in parts per million.
const One = 1_000_000

const maxMoniker = 70 // bytes, CometBFT's bound

// HexBytes are bytes that JSON shows in hexadecimal.
type HexBytes []byte

// MarshalText encodes b as lower-case hexadecimal.
func (b HexBytes) MarshalText() ([]byte, error) { return []byte(hex.EncodeToString(b)), nil }

// UnmarshalText decodes hexadecimal.
func (b *HexBytes) UnmarshalText(text []byte) (err error) {
	*b, err = hex.DecodeString(string(text))
	return err
}

// Genesis is the app_state of the genesis file.
type Genesis struct {
	Params       Params        `json:"params"`
	Seed         HexBytes      `json:"seed"` // 32 bytes: the first election and the initial model
	Participants []Participant `json:"participants"`
}

// DecodeGenesis reads and validates the app_state JSON. Unknown fields are
// refused: a misspelt parameter must not become its zero value.
func DecodeGenesis(appState []byte) (Genesis, error) {
	var g Genesis
	dec := json.NewDecoder(bytes.NewReader(appState))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&g); err != nil {
		return g, fmt.Errorf("%w: app_state: %w", ErrGenesis, err)
	}
	_, err := g.Validate()
	return g, err
}

// Encode gives the app_state JSON.
func (g Genesis) Encode() ([]byte, error) { return json.MarshalIndent(g, "", "  ") }

// NewParticipant is a participant at genesis. consensusKey is its validator's
// ed25519 key, or nil for a worker alone.
func NewParticipant(index uint32, moniker string, pub ed25519.PublicKey, consensusKey []byte, r Reputation) Participant {
	return Participant{Index: index, Moniker: moniker, PubKey: pub, ConsensusKey: consensusKey, Reputation: r.Initial, Active: true}
}

// Validate checks the whole genesis. The warnings name what is allowed and
// weakens a guarantee.
func (g Genesis) Validate() (warnings []string, err error) {
	if len(g.Seed) != 32 {
		return nil, fmt.Errorf("%w: seed has %d bytes, want 32", ErrGenesis, len(g.Seed))
	}
	keys := make(map[string]int, len(g.Participants))
	for i, p := range g.Participants {
		if err := p.validate(i, g.Params.Reputation); err != nil {
			return nil, fmt.Errorf("%w: participant %d: %w", ErrGenesis, i, err)
		}
		if j, twice := keys[string(p.PubKey)]; twice {
			return nil, fmt.Errorf("%w: participants %d and %d have one key", ErrGenesis, j, i)
		}
		keys[string(p.PubKey)] = i
	}
	warnings, err = g.Params.Validate(len(g.Participants))
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrGenesis, err)
	}
	return warnings, err
}

func (p Participant) validate(i int, r Reputation) error {
	switch {
	case int(p.Index) != i:
		return fmt.Errorf("index is %d, want %d", p.Index, i)
	case len(p.PubKey) != ed25519.PublicKeySize:
		return fmt.Errorf("pub_key has %d bytes, want %d", len(p.PubKey), ed25519.PublicKeySize)
	case len(p.ConsensusKey) != 0 && len(p.ConsensusKey) != ed25519.PublicKeySize:
		return fmt.Errorf("consensus_key has %d bytes, want 0 or %d", len(p.ConsensusKey), ed25519.PublicKeySize)
	case len(p.Moniker) > maxMoniker:
		return fmt.Errorf("moniker has %d bytes, at most %d", len(p.Moniker), maxMoniker)
	case p.Reputation != r.Initial:
		return fmt.Errorf("reputation is %d, want the initial %d", p.Reputation, r.Initial)
	case p.Joined != 0 || p.Participations != 0 || !p.Active:
		return fmt.Errorf("joined %d, participations %d, active %t, want 0, 0, true", p.Joined, p.Participations, p.Active)
	}
	return nil
}
