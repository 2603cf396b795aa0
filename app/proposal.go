package app

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/spdl/spdl/app/tx"
)

// Bounds of what waits in the state.
const (
	maxJoins   = 64 // of outsiders; the oldest that nobody approved makes room
	maxMotions = 4  // of one participant, that are not accepted yet
)

// passes is the threshold of governance: more than two thirds of the active
// participants.
func (s *State) passes(approvals int) bool { return 3*approvals > 2*s.Active() }

// Threshold is the least number of approvals that passes.
func (s *State) Threshold() int { return 2*s.Active()/3 + 1 }

// proposer is who sends a proposal, and its nonce. A Join has none: it is its
// key's, which joins once. Nor has a Leave, for the same reason.
func proposer(body tx.Body) (index uint32, nonce uint64, ok bool) {
	switch b := body.(type) {
	case *tx.Rotate:
		return b.Participant, b.Nonce, true
	case *tx.Restore:
		return b.Participant, b.Nonce, true
	case *tx.Remove:
		return b.Participant, b.Nonce, true
	case *tx.StartEpoch:
		return b.Participant, b.Nonce, true
	}
	return 0, 0, false
}

// checkNonce is M8: a proposal that was made cannot be made again by who
// recorded it.
func checkNonce(p *Participant, body tx.Body) error {
	if _, nonce, ok := proposer(body); ok && nonce <= p.Nonce {
		return fmt.Errorf("%w: nonce %d of participant %d, want above %d", ErrNonce, nonce, p.Index, p.Nonce)
	}
	return nil
}

// propose puts a transaction among the changes that wait.
func (s *State) propose(height uint64, t *tx.Tx, approvals []uint32, accepted bool) {
	if index, nonce, ok := proposer(t.Body); ok {
		s.Participants[index].Nonce = nonce
	}
	s.Proposals = append(s.Proposals, Proposal{
		Id: t.Content[:], Kind: uint32(t.Kind()), Content: mustMarshal(t.Body), Height: height, Approvals: approvals, Accepted: accepted,
	})
}

// Body decodes the transaction behind a proposal.
func (p *Proposal) Body() (tx.Body, error) { return tx.DecodeBody(tx.Kind(p.Kind), p.Content) }

// proposal finds one by its id.
func (s *State) proposal(id []byte) *Proposal {
	for i := range s.Proposals {
		if bytes.Equal(s.Proposals[i].Id, id) {
			return &s.Proposals[i]
		}
	}
	return nil
}

// checkApprove is M5 on an approval.
func (s *State) checkApprove(t *tx.Tx, a *tx.Approve) error {
	if _, err := s.checkSender(t, a.Participant); err != nil {
		return err
	}
	p := s.proposal(a.Proposal)
	switch {
	case p == nil:
		return fmt.Errorf("%w: no proposal %X waits, of %d", ErrProposal, a.Proposal, len(s.Proposals))
	case p.Accepted:
		return fmt.Errorf("%w: %X is accepted already", ErrProposal, a.Proposal)
	case slices.Contains(p.Approvals, a.Participant):
		return fmt.Errorf("%w: participant %d has approved %X already", ErrProposal, a.Participant, a.Proposal)
	}
	return nil
}

// approve counts the approvals of those who are still active.
func (s *State) approve(a *tx.Approve) {
	p := s.proposal(a.Proposal)
	p.Approvals = append(slices.Clone(p.Approvals), a.Participant)
	standing := 0
	for _, index := range p.Approvals {
		if s.participant(index) != nil {
			standing++
		}
	}
	p.Accepted = s.passes(standing)
}

// waiting visits the proposals whose body is a T; the visitor returns false to
// end.
func waiting[T tx.Body](s *State, visit func(p *Proposal, body T) bool) {
	for i := range s.Proposals {
		body, err := s.Proposals[i].Body()
		if err != nil {
			panic(err) // it was decoded when it came
		}
		if b, ok := body.(T); ok && !visit(&s.Proposals[i], b) {
			return
		}
	}
}

// checkMotion is M5 on what a participant proposes: not too many of its own,
// and not the same twice.
func (s *State) checkMotion(t *tx.Tx, proposer uint32) error {
	if s.proposal(t.Content[:]) != nil {
		return fmt.Errorf("%w: %X waits already", ErrProposal, t.Content[:])
	}
	own := 0
	for i := range s.Proposals {
		p := &s.Proposals[i]
		if !p.Accepted && len(p.Approvals) > 0 && p.Approvals[0] == proposer && tx.Kind(p.Kind) != tx.KindJoin {
			own++
		}
	}
	if own >= maxMotions {
		return fmt.Errorf("%w: %d proposals of participant %d wait, at most %d", ErrProposal, own, proposer, maxMotions)
	}
	return nil
}

// evictJoin makes room for one more join: the oldest that nobody approved goes.
func (s *State) evictJoin() {
	joins, oldest := 0, -1
	for i := range s.Proposals {
		if tx.Kind(s.Proposals[i].Kind) == tx.KindJoin {
			joins++
			if oldest < 0 && len(s.Proposals[i].Approvals) == 0 {
				oldest = i
			}
		}
	}
	if joins >= maxJoins && oldest >= 0 {
		s.Proposals = slices.Delete(s.Proposals, oldest, oldest+1)
	}
}

// Change is what a round boundary did to the consortium, for events.
type Change struct {
	Kind        tx.Kind
	Participant uint32 // who joined, left, rotated, or was restored; nobody for an epoch
	Proposal    []byte
	Refused     error // why an accepted change could not be made after all
}

// boundary makes the accepted changes, in the order in which they came, and
// drops what waits and makes no sense any more. It runs between two rounds, and
// in any block when training is finished.
func (s *State) boundary() []Change {
	var changes []Change
	var kept []Proposal
	all := s.Proposals
	for i, p := range all {
		body, err := p.Body()
		if err != nil {
			panic(err) // it was decoded when it came
		}
		if e, ok := body.(*tx.StartEpoch); !p.Accepted || ok && !e.Now && !s.Finished() {
			kept = append(kept, p)
			continue
		}
		s.Proposals = all[i+1:] // those that are still to come; this one does not stand in its own way
		c := Change{Kind: tx.Kind(p.Kind), Proposal: p.Id}
		c.Participant, c.Refused = s.change(body)
		changes = append(changes, c)
	}
	s.Proposals = kept
	s.Proposals = slices.DeleteFunc(slices.Clone(kept), func(p Proposal) bool { return s.stale(p) })
	return changes
}

// change makes one accepted change.
func (s *State) change(body tx.Body) (participant uint32, err error) {
	switch b := body.(type) {
	case *tx.Join:
		return s.join(b)
	case *tx.Leave:
		return b.Participant, s.depart(b.Participant)
	case *tx.Remove:
		return b.Subject, s.depart(b.Subject)
	case *tx.Rotate:
		return b.Participant, s.rotate(b)
	case *tx.Restore:
		return b.Subject, s.restore(b.Subject)
	case *tx.StartEpoch:
		return b.Participant, s.startEpoch(b)
	}
	return 0, fmt.Errorf("%w: a %T changes nothing", ErrProposal, body)
}

// stale tells of a proposal that no approval can make possible any more.
func (s *State) stale(p Proposal) bool {
	body, err := p.Body()
	if err != nil {
		return true
	}
	switch b := body.(type) {
	case *tx.Restore:
		q := s.participant(b.Subject)
		return q == nil || q.Reputation != 0
	case *tx.Remove:
		return s.participant(b.Subject) == nil
	case *tx.Leave:
		return s.participant(b.Participant) == nil
	case *tx.Rotate:
		return s.participant(b.Participant) == nil
	case *tx.StartEpoch:
		return b.Epoch != s.Progress.Epoch+1
	}
	return false
}
