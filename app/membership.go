package app

import (
	"bytes"
	"crypto/ed25519"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/spdl/spdl/app/leader"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/gradients"
)

// maxFormerKeys is how often a participant may rotate its signing key: all of
// them count for evidence.
const maxFormerKeys = 64

func identityOf(j *tx.Join) Identity {
	return Identity{PubKey: j.PubKey, VrfKey: j.VrfKey, ConsensusKey: j.ConsensusKey, Moniker: j.Moniker, Address: j.Address}
}

// checkJoin is M1, M2, M4, M5 and M6 on an outsider's request.
func (s *State) checkJoin(t *tx.Tx, j *tx.Join) error {
	if err := identityOf(j).Check(); err != nil {
		return fmt.Errorf("%w: %w", ErrIdentity, err)
	}
	if err := t.Verify(s.ChainID, j.PubKey); err != nil {
		return fmt.Errorf("%w: %w", ErrOperationSigned, err)
	}
	if _, err := leader.Verify(j.VrfKey, leader.PossessionInput(s.ChainID, j.PubKey), j.VrfProof); err != nil {
		return fmt.Errorf("%w: %w", ErrIdentity, err)
	}
	return s.mayJoin(j)
}

// contendAfter is in which round from its boundary on a new VRF key draws with a
// claim to lead, the first time. Whoever knows a seed can try keys until one wins over it; the seed so
// many rounds on is known to nobody who does not win all of them.
const contendAfter = 16

// mayJoin is M2 and M6.
func (s *State) mayJoin(j *tx.Join) error {
	if err := s.keysFree(nil, j.PubKey, j.VrfKey, j.ConsensusKey); err != nil {
		return err
	}
	return s.feasible(s.Active() + 1)
}

func (s *State) join(j *tx.Join) (uint32, error) {
	index := uint32(len(s.Participants))
	if err := s.mayJoin(j); err != nil {
		return index, err
	}
	p := NewParticipant(index, identityOf(j), s.Params.Reputation)
	p.Joined, p.Contends = s.Progress.Round, s.history.size+contendAfter
	s.Participants = append(s.Participants, p)
	return index, nil
}

// feasible is M6: whether the consortium may have n participants.
func (s *State) feasible(n int) error {
	if registered := len(s.Participants); n > s.Active() && registered >= gradients.MaxParticipants {
		return fmt.Errorf("%w: %d participants were registered, at most %d", ErrInfeasible, registered, gradients.MaxParticipants)
	}
	rule := s.Params.Rule
	rule.Byzantine = uint32(max(0, min(int(rule.Byzantine), (n-1)/3)))
	if err := rule.Validate(n); err != nil {
		return fmt.Errorf("%w: with %d participants: %w", ErrInfeasible, n, err)
	}
	if err := s.Params.CheckBlock(n); err != nil {
		return fmt.Errorf("%w: %w", ErrInfeasible, err)
	}
	return nil
}

// keysFree is M2: no key is another's, is or was its own, or is asked for by a
// change that waits. A consensus key is free again when its participant has
// left. Empty keys are skipped; those of the participant except are not looked
// at, but for its signing keys.
func (s *State) keysFree(except *Participant, pub, vrf, consensus []byte) error {
	taken := func(key []byte, by string, held ...[]byte) error {
		for _, h := range held {
			if len(key) > 0 && bytes.Equal(key, h) {
				return fmt.Errorf("%w: %X is %s", ErrKeyTaken, key, by)
			}
		}
		return nil
	}
	for i := range s.Participants {
		p := &s.Participants[i]
		by := fmt.Sprintf("participant %d's", p.Index)
		signing := append([][]byte{p.PubKey}, p.FormerKeys...)
		err := firstOf(taken(pub, by, signing...), taken(vrf, by, p.VrfKey))
		if err == nil && p.Active && (except == nil || except.Index != p.Index) {
			err = taken(consensus, by, p.ConsensusKey)
		}
		if err != nil {
			return err
		}
	}
	var err error
	waiting(s, func(p *Proposal, j *tx.Join) bool {
		err = firstOf(taken(pub, "in a join that waits", j.PubKey), taken(vrf, "in a join that waits", j.VrfKey))
		if err == nil && p.Accepted { // nobody proves a consensus key: a mere request must not block its owner
			err = taken(consensus, "in a join that waits", j.ConsensusKey)
		}
		return err == nil
	})
	if err != nil {
		return err
	}
	waiting(s, func(_ *Proposal, r *tx.Rotate) bool {
		err = firstOf(taken(pub, "in a rotation that waits", r.PubKey), taken(vrf, "in a rotation that waits", r.VrfKey), taken(consensus, "in a rotation that waits", r.ConsensusKey))
		return err == nil
	})
	return err
}

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// checkLeave is M3 to M6 on a departure of one's own.
func (s *State) checkLeave(t *tx.Tx, l *tx.Leave) error {
	if _, err := s.checkSender(t, l.Participant); err != nil {
		return err
	}
	err := s.mayDepart(l.Participant)
	waiting(s, func(_ *Proposal, other *tx.Leave) bool {
		if other.Participant == l.Participant {
			err = fmt.Errorf("%w: participant %d is leaving already", ErrProposal, l.Participant)
		}
		return err == nil
	})
	return err
}

// mayDepart is M6: the rule must be feasible with one less, departures that
// wait counted, and one validator must stay.
func (s *State) mayDepart(index uint32) error {
	p := s.participant(index)
	if p == nil {
		return fmt.Errorf("%w: participant %d is not active", ErrSender, index)
	}
	leaving := map[uint32]bool{index: true}
	waiting(s, func(_ *Proposal, l *tx.Leave) bool { leaving[l.Participant] = true; return true })
	waiting(s, func(p *Proposal, r *tx.Remove) bool {
		if p.Accepted {
			leaving[r.Subject] = true
		}
		return true
	})
	validators := 0
	for i := range s.Participants {
		if q := &s.Participants[i]; q.Active && !leaving[q.Index] && len(q.ConsensusKey) > 0 {
			validators++
		}
	}
	if validators == 0 {
		return fmt.Errorf("%w: participant %d runs the last validator", ErrInfeasible, index)
	}
	return s.feasible(s.Active() - len(leaving))
}

func (s *State) depart(index uint32) error {
	if err := s.mayDepart(index); err != nil {
		return err
	}
	s.Participants[index].Active = false
	return nil
}

// checkRemove is M3 to M6 on a departure that others propose.
func (s *State) checkRemove(t *tx.Tx, r *tx.Remove) error {
	if _, err := s.checkSender(t, r.Participant); err != nil {
		return err
	}
	if err := s.checkNew(t); err != nil {
		return err
	}
	return s.mayDepart(r.Subject)
}

// rotationInput is what a new signing key signs to prove its possession.
func rotationInput(chainID string, index uint32) []byte {
	b := append([]byte("spdl/rotate/v1\x00"), binary.BigEndian.AppendUint32(nil, uint32(len(chainID)))...)
	return binary.BigEndian.AppendUint32(append(b, chainID...), index)
}

// ProveRotation is the signature of possession with a participant's next key.
func ProveRotation(chainID string, index uint32, next ed25519.PrivateKey) []byte {
	return ed25519.Sign(next, rotationInput(chainID, index))
}

// checkRotate is M1 to M5 on new keys.
func (s *State) checkRotate(t *tx.Tx, r *tx.Rotate) error {
	p, err := s.checkSender(t, r.Participant)
	if err != nil {
		return err
	}
	waiting(s, func(_ *Proposal, other *tx.Rotate) bool {
		if other.Participant == r.Participant {
			err = fmt.Errorf("%w: keys of participant %d are being rotated already", ErrProposal, r.Participant)
		}
		return err == nil
	})
	if err != nil {
		return err
	}
	next := rotated(p, r)
	who := Identity{PubKey: next.PubKey, VrfKey: next.VrfKey, ConsensusKey: next.ConsensusKey}
	switch err := who.Check(); {
	case err != nil:
		return fmt.Errorf("%w: %w", ErrIdentity, err)
	case len(r.PubKey)+len(r.VrfKey)+len(r.ConsensusKey) == 0:
		return fmt.Errorf("%w: no key is replaced", ErrIdentity)
	case len(r.PubKey) > 0 && !ed25519.Verify(r.PubKey, rotationInput(s.ChainID, r.Participant), r.PubKeyProof):
		return fmt.Errorf("%w: pub_key_proof is not a signature with the new pub_key", ErrIdentity)
	case len(r.PubKey) == 0 && len(r.PubKeyProof) > 0 || len(r.VrfKey) == 0 && len(r.VrfProof) > 0:
		return fmt.Errorf("%w: a proof without its key", ErrIdentity)
	case len(r.PubKey) > 0 && len(p.FormerKeys) >= maxFormerKeys:
		return fmt.Errorf("%w: participant %d has rotated %d times, at most %d", ErrIdentity, p.Index, len(p.FormerKeys), maxFormerKeys)
	case len(p.ConsensusKey) == 0 && len(r.ConsensusKey) > 0:
		return fmt.Errorf("%w: participant %d is a worker alone; a validator joins by approval", ErrIdentity, p.Index)
	}
	if len(r.VrfKey) > 0 {
		if _, err := leader.Verify(r.VrfKey, leader.PossessionInput(s.ChainID, next.PubKey), r.VrfProof); err != nil {
			return fmt.Errorf("%w: %w", ErrIdentity, err)
		}
	}
	return s.keysFree(p, r.PubKey, r.VrfKey, r.ConsensusKey)
}

// rotated is the participant with its new keys.
func rotated(p *Participant, r *tx.Rotate) Participant {
	next := *p
	if len(r.PubKey) > 0 {
		next.FormerKeys = append(slices.Clone(p.FormerKeys), p.PubKey)
		next.PubKey = r.PubKey
	}
	if len(r.VrfKey) > 0 {
		next.VrfKey, next.VrfProof = r.VrfKey, nil
	}
	if len(r.ConsensusKey) > 0 {
		next.ConsensusKey = r.ConsensusKey
	}
	return next
}

func (s *State) rotate(r *tx.Rotate) error {
	p := s.participant(r.Participant)
	if p == nil {
		return fmt.Errorf("%w: participant %d is not active", ErrSender, r.Participant)
	}
	if err := s.keysFree(p, r.PubKey, r.VrfKey, r.ConsensusKey); err != nil {
		return err
	}
	*p = rotated(p, r)
	if len(r.VrfKey) > 0 {
		p.Contends = s.history.size + contendAfter
	}
	return nil
}

// checkRestore is M3 to M5 on the governance of reputations.
func (s *State) checkRestore(t *tx.Tx, r *tx.Restore) error {
	if _, err := s.checkSender(t, r.Participant); err != nil {
		return err
	}
	if err := s.checkNew(t); err != nil {
		return err
	}
	return s.mayRestore(r.Subject)
}

func (s *State) mayRestore(index uint32) error {
	switch p := s.participant(index); {
	case p == nil:
		return fmt.Errorf("%w: participant %d is not active", ErrSender, index)
	case p.Reputation != 0:
		return fmt.Errorf("%w: participant %d has reputation %d, only 0 is restored", ErrProposal, index, p.Reputation)
	}
	return nil
}

// restore gives the initial reputation back and settles what was before.
func (s *State) restore(index uint32) error {
	if err := s.mayRestore(index); err != nil {
		return err
	}
	p := &s.Participants[index]
	p.Reputation = s.Params.Reputation.Initial
	p.SettledEpoch, p.SettledRound, p.SettledHeight = s.Progress.Epoch, s.Progress.Round, s.Height
	return nil
}

// ValidatorUpdate is a change of CometBFT's validator set.
type ValidatorUpdate struct {
	ConsensusKey []byte
	Power        int64 // 0 removes it
}

// validatorUpdates are what makes the validators of one state those of another.
func validatorUpdates(from, to []Participant) []ValidatorUpdate {
	holds := func(all []Participant, key []byte) bool {
		return slices.ContainsFunc(all, func(p Participant) bool { return p.Active && bytes.Equal(p.ConsensusKey, key) })
	}
	var out []ValidatorUpdate
	for _, p := range from {
		if p.Active && len(p.ConsensusKey) > 0 && !holds(to, p.ConsensusKey) {
			out = append(out, ValidatorUpdate{p.ConsensusKey, 0})
		}
	}
	for _, p := range to {
		if p.Active && len(p.ConsensusKey) > 0 && !holds(from, p.ConsensusKey) {
			out = append(out, ValidatorUpdate{p.ConsensusKey, Power})
		}
	}
	return out
}
