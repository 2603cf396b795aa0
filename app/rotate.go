package app

import (
	"cmp"
	"crypto/ed25519"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"

	"github.com/spdl/spdl/app/leader"
	"github.com/spdl/spdl/app/tx"
)

// maxFormerKeys is the max number of rotations of a participant's signing key, and also of its
// consensus key. It bounds the number of keys against which evidence is checked.
const maxFormerKeys = 64

// rotateOp replaces keys and node ids of its sender. It needs no approval.
type rotateOp struct{ *tx.Rotate }

func (r rotateOp) sender() sender { return memberSender(r.Participant, r.Nonce) }

// rotationInput returns the message that a new signing key signs to prove its possession.
func rotationInput(chainID string, index uint32) []byte {
	return binary.BigEndian.AppendUint32(leader.Prefix("spdl/rotate/v1", chainID), index)
}

// ProveRotation returns the proof of possession of a participant's next signing key.
func ProveRotation(chainID string, index uint32, next ed25519.PrivateKey) []byte {
	return ed25519.Sign(next, rotationInput(chainID, index))
}

// check rejects a second rotation of a participant before the first is enacted (M5), invalid keys
// (M1), and keys that are taken (M2).
func (r rotateOp) check(s *State) (err error) {
	p := s.participant(r.Participant)
	forEachProposal(s, func(_ *Proposal, other rotateOp) bool {
		if other.Participant == r.Participant {
			err = fmt.Errorf("%w: keys of participant %d are being rotated already", ErrProposal, r.Participant)
		}
		return err == nil
	})
	if err != nil {
		return err
	}
	if err := r.checkKeys(s, p); err != nil {
		return err
	}
	return s.checkKeysFree(p, r.keys())
}

// checkKeys rejects new keys that are not valid, or whose possession the sender has not proven
// (M1). It also checks the limit on former keys.
func (r rotateOp) checkKeys(s *State, p *Participant) error {
	next := r.withNewKeys(p, s)
	who := Identity{PubKey: next.PubKey, VrfKey: next.VrfKey, ConsensusKey: next.ConsensusKey, NodeIDs: next.NodeIds}
	switch err := who.Check(); {
	case err != nil:
		return fmt.Errorf("%w: %w", ErrIdentity, err)
	case len(r.PubKey)+len(r.VrfKey)+len(r.ConsensusKey)+len(r.NodeIds) == 0:
		return fmt.Errorf("%w: nothing is replaced", ErrIdentity)
	case len(r.PubKey) > 0 && !ed25519.Verify(r.PubKey, rotationInput(s.ChainID, r.Participant), r.PubKeyProof):
		return fmt.Errorf("%w: pub_key_proof is not a signature with the new pub_key", ErrIdentity)
	case len(r.PubKey) == 0 && len(r.PubKeyProof) > 0 || len(r.VrfKey) == 0 && len(r.VrfProof) > 0:
		return fmt.Errorf("%w: a proof without its key", ErrIdentity)
	}
	if err := r.checkSeat(p); err != nil {
		return err
	}
	if len(r.VrfKey) > 0 {
		if _, err := leader.Verify(r.VrfKey, leader.PossessionInput(s.ChainID, next.PubKey), r.VrfProof); err != nil {
			return fmt.Errorf("%w: %w", ErrIdentity, err)
		}
	}
	if err := CheckConsensusProof(s.ChainID, next.PubKey, r.ConsensusKey, r.ConsensusProof); err != nil {
		return err
	}
	return r.checkFormer(next)
}

// checkSeat rejects a new consensus key for a participant that has none (M1). It is repeated when the rotation is
// executed: the boundary may have taken the validator since, and the rotation must not give it back.
func (r rotateOp) checkSeat(p *Participant) error {
	if len(r.ConsensusKey) > 0 && len(p.ConsensusKey) == 0 {
		return fmt.Errorf("%w: participant %d is a worker alone; a validator joins by approval", ErrIdentity, p.Index)
	}
	return nil
}

// checkFormer rejects a rotation after which the participant would have more than maxFormerKeys
// former signing or consensus keys.
func (r rotateOp) checkFormer(next Participant) error {
	keys, validators := len(next.FormerKeys), len(next.FormerValidators)
	if len(r.PubKey) > 0 && keys > maxFormerKeys || len(r.ConsensusKey) > 0 && validators > maxFormerKeys {
		return fmt.Errorf("%w: participant %d would have rotated its signing key %d times and its consensus key %d times, "+
			"at most %d each",
			ErrIdentity, next.Index, keys, validators, maxFormerKeys)
	}
	return nil
}

// withNewKeys returns a copy of the participant with its new keys and node ids. New signing and VRF
// keys are in force from the open round on, a new consensus key from two heights later on.
func (r rotateOp) withNewKeys(p *Participant, s *State) Participant {
	next := *p
	if len(r.PubKey) > 0 {
		next.FormerKeys = append(slices.Clone(p.FormerKeys), FormerKey{PubKey: p.PubKey, Epoch: s.Progress.Epoch,
			Round: s.Progress.Round})
		next.PubKey = r.PubKey
	}
	if len(r.VrfKey) > 0 {
		next.VrfKey, next.VrfProof = r.VrfKey, nil
	}
	if len(r.ConsensusKey) > 0 {
		next = next.withoutValidator(s.Height)
		next.ConsensusKey = r.ConsensusKey
	}
	if len(r.NodeIds) > 0 {
		next.NodeIds = r.NodeIds
	}
	return next
}

func (r rotateOp) apply(s *State, t *tx.Tx) { s.decide(r, t) }

// isReady reports whether a boundary may execute the rotation now. A rotation of a signing or VRF key is not executed
// while a round is open, not even while the round is stalled. The participant may already have sent a gradient under
// the old keys, and a second gradient under the new keys would be evidence against the participant.
func (r rotateOp) isReady(s *State) bool {
	return len(r.PubKey)+len(r.VrfKey) == 0 || s.Progress.Opened > s.Height || s.isOver()
}

func (r rotateOp) execute(s *State) (uint32, error) {
	p := s.participant(r.Participant)
	if p == nil {
		return r.Participant, fmt.Errorf("%w: participant %d is not active", ErrSender, r.Participant)
	}
	if err := cmp.Or(r.checkSeat(p), s.checkKeysFree(p, r.keys())); err != nil {
		return r.Participant, err
	}
	*p = r.withNewKeys(p, s)
	if len(r.VrfKey) > 0 {
		p.Contends = s.history.size + contendAfter
	}
	return r.Participant, nil
}

func (r rotateOp) isObsolete(s *State) bool { return s.participant(r.Participant) == nil }

func (r rotateOp) keys() keys { return keys{r.PubKey, r.VrfKey, r.ConsensusKey} }

func (r rotateOp) describe() Description {
	d := Description{Summary: fmt.Sprintf("rotation of %d", r.Participant)}
	for _, k := range []struct {
		name string
		key  []byte
	}{{"signing key", r.PubKey}, {"VRF key", r.VrfKey}, {"consensus key", r.ConsensusKey}} {
		if len(k.key) > 0 {
			d.Details = append(d.Details, Attribute{"new " + k.name, hex.EncodeToString(k.key)})
		}
	}
	if len(r.NodeIds) > 0 {
		d.Details = append(d.Details, Attribute{"new nodes", strings.Join(r.NodeIds, " ")})
	}
	return d
}
