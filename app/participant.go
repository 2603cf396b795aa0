package app

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/spdl/spdl/app/leader"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/gradients"
)

// These are the max lengths of the texts in an Identity, in bytes.
const (
	MaxMoniker = 70 // equal to CometBFT's max length of a moniker
	maxAddress = 256
)

// MaxNodeIDs is the max number of node ids of one participant.
const MaxNodeIDs = 8

// nodeIDBytes is the size of a CometBFT node id before hexadecimal encoding.
const nodeIDBytes = 20

// Power is the voting power of a participant's validator.
const Power = 10

// Identity holds the public keys, names and node ids that a participant registers.
type Identity struct {
	PubKey       []byte // the ed25519 public key for transactions, 32 bytes
	VrfKey       []byte // the public key of the VRF, a point of edwards25519 in 32 bytes
	ConsensusKey []byte // the ed25519 public key of the participant's validator; empty without a validator
	Moniker      string
	Address      string
	NodeIDs      []string // CometBFT node ids in hexadecimal, in increasing order; may be empty
}

// ParticipantID returns a participant's 256-bit id, as in the paper: SHA-256 of the participant's
// first public key. A rotation of the key does not change the id.
func ParticipantID(pub []byte) [32]byte { return sha256.Sum256(pub) }

// NewParticipant returns a new participant, active and with the initial reputation.
func NewParticipant(index uint32, who Identity, r params.Reputation) Participant {
	id := ParticipantID(who.PubKey)
	return Participant{
		Index: index, Id: id[:], Moniker: who.Moniker, Address: who.Address, PubKey: who.PubKey, VrfKey: who.VrfKey,
		ConsensusKey: who.ConsensusKey, NodeIds: who.NodeIDs, Reputation: r.Initial, Active: true,
	}
}

// Check rejects an identity that is not well-formed.
func (who Identity) Check() error {
	// Anyone can forge signatures for a key of small order. If the key is the neutral element of
	// the curve, one signature is valid for every message.
	if err := leader.CheckKey(who.PubKey); err != nil {
		return fmt.Errorf("pub_key: %w", err)
	}
	if err := leader.CheckKey(who.VrfKey); err != nil {
		return fmt.Errorf("vrf_key: %w", err)
	}
	if len(who.ConsensusKey) > 0 {
		if err := leader.CheckKey(who.ConsensusKey); err != nil {
			return fmt.Errorf("consensus_key: %w", err)
		}
	}
	if err := params.CheckText("moniker", who.Moniker, MaxMoniker); err != nil {
		return err
	}
	if err := params.CheckText("address", who.Address, maxAddress); err != nil {
		return err
	}
	return checkNodeIDs(who.NodeIDs)
}

// checkNodeIDs rejects ids that are not in CometBFT's form. It also rejects lists that are not in
// increasing order, so that each set of ids has one encoding.
func checkNodeIDs(ids []string) error {
	if len(ids) > MaxNodeIDs {
		return fmt.Errorf("%d node_ids, at most %d", len(ids), MaxNodeIDs)
	}
	for i, id := range ids {
		if raw, err := hex.DecodeString(id); err != nil || len(raw) != nodeIDBytes || strings.ToLower(id) != id {
			return fmt.Errorf("node_ids: %q, want %d lower-case hex digits", id, 2*nodeIDBytes)
		}
		if i > 0 && id <= ids[i-1] {
			return fmt.Errorf("node_ids: %s is not above %s before it", id, ids[i-1])
		}
	}
	return nil
}

// isClosed reports whether a node can reject connections from outsiders: at least one active participant has a
// validator, and every active participant with a validator has registered a node id.
func isClosed(all []Participant) bool {
	validators := 0
	for i := range all {
		if p := &all[i]; p.Active && len(p.ConsensusKey) > 0 {
			if len(p.NodeIds) == 0 {
				return false
			}
			validators++
		}
	}
	return validators > 0
}

// Nodes returns the node ids, unsorted, of all active participants. It adds the node ids of each
// former participant whose validator still votes on the block after height: without these votes the
// chain could halt. exclusive reports whether a node must reject connections from all other nodes.
func Nodes(all []Participant, height uint64) (ids []string, exclusive bool) {
	for i := range all {
		votes := func(v FormerValidator) bool { return height < v.Height }
		if all[i].Active || slices.ContainsFunc(all[i].FormerValidators, votes) {
			ids = append(ids, all[i].NodeIds...)
		}
	}
	return ids, isClosed(all)
}

// HolderOf returns the participant whose current or former signing key is pub, or nil if there is
// none. The participant may have left the consortium.
func (s *State) HolderOf(pub []byte) *Participant {
	for i := range s.Participants {
		p := &s.Participants[i]
		had := func(k FormerKey) bool { return bytes.Equal(k.PubKey, pub) }
		if bytes.Equal(p.PubKey, pub) || slices.ContainsFunc(p.FormerKeys, had) {
			return p
		}
	}
	return nil
}

// signingKeys returns the keys whose signatures bind the participant in the given round of the given epoch: the current
// key, and every former key that was replaced after that round. So a former key that leaks cannot convict the
// participant of a statement for a round after the key's rotation.
func (p *Participant) signingKeys(epoch, round uint64) []ed25519.PublicKey {
	keys := []ed25519.PublicKey{p.PubKey}
	for _, k := range p.FormerKeys {
		if isEarlier(epoch, round, k.Epoch, k.Round) {
			keys = append(keys, k.PubKey)
		}
	}
	return keys
}

// withoutValidator returns a copy of the participant without its validator. boundary is the height
// of the block that removes the validator. CometBFT applies the removal two heights later, so the
// validator still signs at height boundary+1.
func (p Participant) withoutValidator(boundary uint64) Participant {
	if len(p.ConsensusKey) > 0 {
		p.FormerValidators = append(slices.Clone(p.FormerValidators), FormerValidator{ConsensusKey: p.ConsensusKey,
			Height: boundary + 2})
		p.ConsensusKey = nil
	}
	return p
}

// ProveVRFKey returns the proof of possession of a VRF key: the VRF proof with this key over the
// chain's id and pub, the participant's signing key.
func ProveVRFKey(chainID string, pub []byte, vrf ed25519.PrivateKey) []byte {
	return leader.Prove(vrf, leader.PossessionInput(chainID, pub))
}

// ProveConsensusKey returns the proof of possession of a consensus key: the signature with this key
// over the chain's id and pub, the participant's signing key.
func ProveConsensusKey(chainID string, pub []byte, consensus ed25519.PrivateKey) []byte {
	return ed25519.Sign(consensus, consensusKeyInput(chainID, pub))
}

// consensusKeyInput returns the message that a consensus key signs to prove its possession.
func consensusKeyInput(chainID string, pub []byte) []byte {
	return append(leader.Prefix("spdl/consensus-key/v1", chainID), pub...)
}

// CheckConsensusProof rejects a consensus key without a valid proof of possession, and a proof
// without a key (M1). It accepts the absence of both.
func CheckConsensusProof(chainID string, pub, consensus, proof []byte) error {
	switch {
	case len(consensus) == 0 && len(proof) > 0:
		return fmt.Errorf("%w: a proof without its key", ErrIdentity)
	case len(consensus) > 0 && !ed25519.Verify(consensus, consensusKeyInput(chainID, pub), proof):
		return fmt.Errorf("%w: consensus_proof is not a signature with the consensus_key", ErrIdentity)
	}
	return nil
}

// checkFeasible returns ErrInfeasible if the consortium cannot have n active participants (M6).
func (s *State) checkFeasible(n int) error {
	if registered := len(s.Participants); n > s.Active() && registered >= gradients.MaxParticipants {
		return fmt.Errorf("%w: %d participants were registered, at most %d", ErrInfeasible, registered,
			gradients.MaxParticipants)
	}
	rule := s.Params.Rule
	rule.Byzantine = uint32(rule.F(n))
	if err := rule.Validate(n); err != nil {
		return fmt.Errorf("%w: with %d participants: %w", ErrInfeasible, n, err)
	}
	if err := s.Params.CheckBlock(n); err != nil {
		return fmt.Errorf("%w: %w", ErrInfeasible, err)
	}
	return nil
}

// ValidatorUpdate is a change of CometBFT's validator set.
type ValidatorUpdate struct {
	ConsensusKey []byte
	Power        int64 // 0 removes the validator
}

// validatorUpdates returns the changes that turn the validator set of oldMembers into the validator set of newMembers.
func validatorUpdates(oldMembers, newMembers []Participant) []ValidatorUpdate {
	holds := func(all []Participant, key []byte) bool {
		return slices.ContainsFunc(all, func(p Participant) bool { return p.Active && bytes.Equal(p.ConsensusKey, key) })
	}
	var out []ValidatorUpdate
	for _, p := range oldMembers {
		if p.Active && len(p.ConsensusKey) > 0 && !holds(newMembers, p.ConsensusKey) {
			out = append(out, ValidatorUpdate{p.ConsensusKey, 0})
		}
	}
	for _, p := range newMembers {
		if p.Active && len(p.ConsensusKey) > 0 && !holds(oldMembers, p.ConsensusKey) {
			out = append(out, ValidatorUpdate{p.ConsensusKey, Power})
		}
	}
	return out
}
