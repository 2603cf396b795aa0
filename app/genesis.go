package app

import (
	"bytes"
	"crypto/ed25519"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/spdl/spdl/app/leader"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/internal/strictjson"
)

// HexBytes holds bytes that JSON represents as a string of hexadecimal digits.
type HexBytes []byte

// MarshalText encodes b as lower-case hexadecimal.
func (b HexBytes) MarshalText() ([]byte, error) { return []byte(hex.EncodeToString(b)), nil }

// UnmarshalText decodes hexadecimal digits. It fails for any other text.
func (b *HexBytes) UnmarshalText(text []byte) (err error) {
	*b, err = hex.DecodeString(string(text))
	return err
}

// Genesis is the app_state of the genesis file.
type Genesis struct {
	Params       params.Params `json:"params"`
	Seed         HexBytes      `json:"seed"` // 32 bytes; the first election and the initial model derive from the seed
	Participants []Participant `json:"participants"`
}

// DecodeGenesis decodes and validates the app_state JSON. It rejects unknown and ambiguous field
// names, because a misspelt parameter would silently be zero, and values that another decoder may read differently.
func DecodeGenesis(appState []byte) (Genesis, error) {
	var g Genesis
	err := strictjson.Exact(appState)
	if err == nil {
		err = strictjson.Decode(appState, &g)
	}
	if err != nil {
		return g, fmt.Errorf("%w: app_state: %w", ErrGenesis, err)
	}
	_, err = g.Validate()
	return g, err
}

// Encode returns the app_state JSON.
func (g Genesis) Encode() ([]byte, error) { return json.MarshalIndent(g, "", "  ") }

// Contenders returns the contenders of a chain's first election. It fails if the VRF proof of a
// participant is not a valid proof over the genesis seed.
func (g Genesis) Contenders(chainID string) ([]leader.Contender, error) {
	contenders := make([]leader.Contender, len(g.Participants))
	input := leader.Input(chainID, 0, 0, g.Seed)
	for i, p := range g.Participants {
		out, err := leader.Verify(p.VrfKey, input, p.VrfProof)
		if err != nil {
			return nil, fmt.Errorf("%w: participant %d: vrf_proof over the seed on chain %q: %w", ErrGenesis, i, chainID, err)
		}
		contenders[i] = leader.Contender{Participant: p.Index, Output: out}
	}
	return contenders, nil
}

// ProveGenesis returns a participant's VRF proof for the first election of a chain.
func ProveGenesis(chainID string, seed []byte, vrf ed25519.PrivateKey) []byte {
	return leader.Prove(vrf, leader.Input(chainID, 0, 0, seed))
}

// Validate checks the whole genesis. The warnings name settings that are valid but weaken a guarantee.
func (g Genesis) Validate() (warnings []string, err error) {
	if len(g.Seed) != 32 {
		return nil, fmt.Errorf("%w: seed has %d bytes, want 32", ErrGenesis, len(g.Seed))
	}
	keys := make(map[string]int, len(g.Participants))
	for i, p := range g.Participants {
		if err := p.validate(i, g.Params.Reputation); err != nil {
			return nil, fmt.Errorf("%w: participant %d: %w", ErrGenesis, i, err)
		}
		for _, key := range [][]byte{p.PubKey, p.VrfKey, p.ConsensusKey} {
			if j, twice := keys[string(key)]; twice && len(key) > 0 && j != i {
				return nil, fmt.Errorf("%w: participants %d and %d have one key, %X", ErrGenesis, j, i, key)
			}
			keys[string(key)] = i
		}
	}
	warnings, err = g.Params.Validate(len(g.Participants))
	if len(g.Participants) > 1 && !isClosed(g.Participants) {
		warnings = append(warnings, "not every participant with a validator names its node (node_ids): nodes let "+
			"everybody in, and a crowd of strangers can slow them down")
	}
	if err == nil {
		err = g.Params.CheckBlock(len(g.Participants))
	}
	if err != nil {
		err = fmt.Errorf("%w: %w", ErrGenesis, err)
	}
	return warnings, err
}

// CheckValidators rejects a genesis in which a participant's consensus key belongs to no genesis
// validator of voting power Power: CometBFT would halt when the chain removes such a key. The map
// power has the voting power of each genesis validator, by ed25519 key.
func (g Genesis) CheckValidators(power map[string]int64) error {
	for _, p := range g.Participants {
		if got := power[string(p.ConsensusKey)]; len(p.ConsensusKey) > 0 && got != Power {
			return fmt.Errorf("%w: participant %d (%q) names a consensus key whose validator has power %d, want %d", ErrGenesis,
				p.Index, p.Moniker, got, Power)
		}
	}
	return nil
}

// validate rejects a participant with a field that only a running chain sets.
func (p Participant) validate(i int, r params.Reputation) error {
	who := Identity{PubKey: p.PubKey, VrfKey: p.VrfKey, ConsensusKey: p.ConsensusKey, Moniker: p.Moniker,
		Address: p.Address, NodeIDs: p.NodeIds}
	if err := who.Check(); err != nil {
		return err
	}
	if id := ParticipantID(p.PubKey); !bytes.Equal(p.Id, id[:]) {
		return fmt.Errorf("id is %X, want SHA-256 of pub_key, %X", p.Id, id)
	}
	untouched := NewParticipant(uint32(i), who, r)
	untouched.VrfProof = p.VrfProof
	got, want := reflect.ValueOf(p), reflect.ValueOf(untouched)
	for i := range got.NumField() {
		g, w := got.Field(i), want.Field(i)
		bothEmpty := g.Kind() == reflect.Slice && g.Len()+w.Len() == 0
		if bothEmpty || reflect.DeepEqual(g.Interface(), w.Interface()) {
			continue
		}
		name, _, _ := strings.Cut(got.Type().Field(i).Tag.Get("json"), ",")
		return fmt.Errorf("%s is %v, want %v: a genesis sets keys, names and vrf_proof alone", name, g, w)
	}
	return nil
}
