package app

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"slices"

	"github.com/spdl/spdl/app/tx"
)

// Misbehavior is CometBFT's evidence against a validator, as a decided block carries it.
type Misbehavior struct {
	Type    uint32 // CometBFT's type: 1 duplicate vote, 2 light client attack
	Address []byte // address of the validator: the first 20 bytes of SHA-256 of its consensus key
	Height  uint64 // height of the misbehaviour
}

// misbehaviorName returns the name of CometBFT's type of misbehaviour.
func misbehaviorName(kind uint32) string {
	switch kind {
	case 1:
		return "duplicate vote"
	case 2:
		return "light client attack"
	}
	return "unknown"
}

// Cause returns the name of the offence: the kind of the two contradicting statements, or CometBFT's
// type of misbehaviour.
func (o Offence) Cause() string {
	if o.Misbehavior != 0 {
		return misbehaviorName(o.Misbehavior)
	}
	return tx.Kind(o.Kind).String()
}

// Conviction describes the participant's latest offence that no restore has settled, for example
// "duplicate vote at height 9, proven at height 11". It returns "" without such an offence.
func Conviction(offences []Offence, p *Participant) string {
	for _, o := range slices.Backward(offences) {
		switch {
		case !o.WeighsOn(p):
		case o.Misbehavior != 0:
			return fmt.Sprintf("%s at height %d, proven at height %d", o.Cause(), o.Voted, o.Height)
		default:
			return fmt.Sprintf("two %ss for epoch %d, round %d, proven at height %d", o.Cause(), o.Epoch, o.Round, o.Height)
		}
	}
	return ""
}

// WeighsOn reports whether the offence is one of the given participant that no restore has settled.
func (o Offence) WeighsOn(p *Participant) bool {
	return o.Participant == p.Index && o.Height > p.SettledHeight
}

// recordMisbehavior records the offences of participants whose validators misbehaved, sets their
// reputations to 0, and returns the new offences.
func (s *State) recordMisbehavior(proven []Misbehavior) (added []Offence) {
	for _, m := range proven {
		p, key := s.offender(m)
		if p == nil {
			continue
		}
		o := Offence{Participant: p.Index, Misbehavior: m.Type, Voted: m.Height, Height: s.Height, Evidence: key}
		s.punish(o)
		added = append(added, o)
	}
	return added
}

// Convicts reports whether a block that proves m would record an offence.
func (s *State) Convicts(m Misbehavior) bool {
	p, _ := s.offender(m)
	return p != nil
}

// offender returns the participant that m convicts, and the consensus key of its validator. The participant is nil if
//
//   - the validator belongs to no participant, or m has no type;
//   - the height of the misbehaviour is not above the height of the participant's last restore;
//   - the participant already has a recorded misbehaviour since that restore: a validator can sign
//     any amount of evidence against itself.
func (s *State) offender(m Misbehavior) (*Participant, []byte) {
	p, key := s.validatorAt(m.Address, m.Height)
	if p == nil || m.Type == 0 || m.Height <= p.SettledHeight && p.SettledHeight > 0 || s.hasMisbehaved(p) {
		return nil, nil
	}
	return p, key
}

// validatorAt returns the owner of the validator that had the given address at the given height,
// and the validator's consensus key. The owner may have left the consortium. A key can pass from
// one participant to another. So the owner is the participant that first gave up the key after the
// height. If no participant did, the owner is the participant that has the key now.
func (s *State) validatorAt(address []byte, height uint64) (owner *Participant, key []byte) {
	is := func(key []byte) bool {
		sum := sha256.Sum256(key)
		return len(key) > 0 && bytes.Equal(sum[:20], address)
	}
	end := ^uint64(0)
	for i := range s.Participants {
		p := &s.Participants[i]
		if owner == nil && is(p.ConsensusKey) {
			owner, key = p, p.ConsensusKey
		}
		for _, v := range p.FormerValidators {
			if height < v.Height && v.Height < end && is(v.ConsensusKey) {
				owner, key, end = p, v.ConsensusKey, v.Height
			}
		}
	}
	return owner, key
}

// hasMisbehaved reports whether the participant's validator has an offence on record that no restore has settled.
func (s *State) hasMisbehaved(p *Participant) bool {
	return slices.ContainsFunc(s.Offences, func(o Offence) bool { return o.Misbehavior != 0 && o.WeighsOn(p) })
}

// toJail returns the participants that lose their validators at the next boundary. With reputation.unseat these are all
// active participants whose validator misbehaved; without reputation.unseat there are none. If every validator
// misbehaved, the participant with the lowest index keeps its validator, because the chain needs a validator.
func (s *State) toJail() (out []uint32) {
	if !s.Params.Reputation.Unseat {
		return nil
	}
	validators := 0
	for i := range s.Participants {
		p := &s.Participants[i]
		if !p.Active || len(p.ConsensusKey) == 0 {
			continue
		}
		if validators++; s.hasMisbehaved(p) {
			out = append(out, p.Index)
		}
	}
	if len(out) > 0 && len(out) == validators {
		out = out[1:] // the participant with the lowest index keeps its validator
	}
	return out
}
