package app

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/spdl/spdl/app/tx"
)

// Bounds of what waits in the state.
const (
	maxJoins     = 64 // that nobody approved yet; the oldest makes room
	maxProposals = 4  // that one participant proposed or approved first, and that are not accepted; its oldest makes room
)

// passes is the threshold of governance: more than two thirds of the active
// participants.
func (s *State) passes(approvals int) bool { return 3*approvals > 2*s.Active() }

// Threshold is the least number of approvals that passes.
func (s *State) Threshold() int { return 2*s.Active()/3 + 1 }

// proposer is who sends a proposal, and its nonce. A Join has none: it is its
// key's, which joins once.
func proposer(body tx.Body) (index uint32, nonce uint64, ok bool) {
	switch b := body.(type) {
	case *tx.Leave:
		return b.Participant, b.Nonce, true
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
	id := t.ID()
	s.Proposals = append(s.Proposals, Proposal{
		Id: id[:], Kind: uint32(t.Kind()), Content: mustMarshal(t.Body), Height: height, Approvals: approvals, Accepted: accepted,
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
	case p == nil && len(a.Join) > 0:
		_, err := s.brought(a)
		return err
	case p == nil:
		return fmt.Errorf("%w: no proposal %X waits, of %d", ErrProposal, a.Proposal, len(s.Proposals))
	case p.Accepted:
		return fmt.Errorf("%w: %X is accepted already", ErrProposal, a.Proposal)
	case slices.Contains(p.Approvals, a.Participant):
		return fmt.Errorf("%w: participant %d has approved %X already", ErrProposal, a.Participant, a.Proposal)
	}
	return nil
}

// brought is the Join that an approval brings along.
func (s *State) brought(a *tx.Approve) (*tx.Tx, error) {
	t, err := tx.Decode(a.Join)
	if err != nil {
		return nil, fmt.Errorf("%w: the join brought along: %w", ErrProposal, err)
	}
	j, ok := t.Body.(*tx.Join)
	if id := t.ID(); !ok || !bytes.Equal(id[:], a.Proposal) {
		return nil, fmt.Errorf("%w: what is brought along is the %s %X, approved is %X", ErrProposal, t.Kind(), id, a.Proposal)
	}
	return t, s.checkJoin(t, j)
}

// approve counts an approval, and brings a Join in with it.
func (s *State) approve(height uint64, a *tx.Approve) {
	if len(a.Join) > 0 && s.proposal(a.Proposal) == nil {
		t, err := s.brought(a)
		if err != nil {
			panic(err) // checkApprove has seen it
		}
		s.propose(height, t, nil, false)
	}
	p := s.proposal(a.Proposal)
	if len(p.Approvals) == 0 {
		s.evictProposal(a.Participant)
		p = s.proposal(a.Proposal)
	}
	p.Approvals = append(slices.Clone(p.Approvals), a.Participant)
	s.count(p)
}

// count accepts a proposal that enough of those who are still active approve.
func (s *State) count(p *Proposal) {
	standing := 0
	for _, index := range p.Approvals {
		if s.participant(index) != nil {
			standing++
		}
	}
	p.Accepted = p.Accepted || standing > 0 && s.passes(standing)
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

// checkNew is M5 on what a participant proposes: not the same twice.
func (s *State) checkNew(t *tx.Tx) error {
	if id := t.ID(); s.proposal(id[:]) != nil {
		return fmt.Errorf("%w: %X waits already", ErrProposal, id)
	}
	return nil
}

// evictProposal makes room for one more proposal that a participant is the first
// to stand for: its oldest goes, of those that nobody else approved if there is
// one: others' approvals are not its to take back.
func (s *State) evictProposal(index uint32) {
	own := func(p Proposal) bool { return !p.Accepted && len(p.Approvals) > 0 && p.Approvals[0] == index }
	s.evict(maxProposals, own, func(p Proposal) bool { return own(p) && len(p.Approvals) == 1 })
}

// evictJoin makes room for one more join: the oldest that nobody approved goes.
func (s *State) evictJoin() {
	unapproved := func(p Proposal) bool { return tx.Kind(p.Kind) == tx.KindJoin && len(p.Approvals) == 0 }
	s.evict(maxJoins, unapproved, unapproved)
}

// evict drops the oldest of a sort of proposals where so many wait, a preferred
// one if there is any.
func (s *State) evict(most int, sort, preferred func(Proposal) bool) {
	waiting := 0
	for _, p := range s.Proposals {
		if sort(p) {
			waiting++
		}
	}
	if waiting >= most {
		oldest := slices.IndexFunc(s.Proposals, preferred)
		if oldest < 0 {
			oldest = slices.IndexFunc(s.Proposals, sort)
		}
		s.Proposals = slices.Delete(s.Proposals, oldest, oldest+1)
	}
}

// Enactment is what a round boundary made of an accepted proposal.
type Enactment struct {
	Kind        tx.Kind
	Participant uint32 // who joined, left, rotated, or was restored; nobody for an epoch
	Proposal    []byte
	Refused     error // why an accepted change could not be made after all
}

// stallViews is how many views beyond the last one a round may stay open before
// accepted changes are made without its closing: they may be what it needs.
const stallViews = 4

// stalled tells whether the open round has had its time at a height.
func (s *State) stalled(height uint64) bool {
	e := s.Params.Election
	return !s.Finished() && height >= s.Progress.Opened+e.QuorumBlocks+e.ViewBlocks*uint64(len(s.Progress.Ranking)+2+stallViews)
}

// due tells whether a change that waits could be made at a boundary.
func (s *State) due() bool {
	return slices.ContainsFunc(s.Proposals, func(p Proposal) bool {
		s.count(&p)
		return p.Accepted && s.ripe(p)
	})
}

// ripe tells whether an accepted change need not wait for the end of training.
func (s *State) ripe(p Proposal) bool {
	body, err := p.Body()
	if err != nil {
		panic(err) // it was decoded when it came
	}
	e, ok := body.(*tx.StartEpoch)
	return !ok || e.Now || s.over()
}

// boundary makes the accepted changes, in the order in which they came, each
// judged against what those before it left, and drops what waits and makes no
// sense any more. It runs between two rounds, in any block when training is
// finished, and where a round has stalled.
func (s *State) boundary() []Enactment {
	var changes []Enactment
	var kept []Proposal
	all := s.Proposals
	s.Proposals = nil
	for i := range all {
		p := all[i]
		s.count(&p)
		if !p.Accepted || !s.ripe(p) {
			kept = append(kept, p)
			continue
		}
		body, err := p.Body()
		if err != nil {
			panic(err) // it was decoded when it came
		}
		c := Enactment{Kind: tx.Kind(p.Kind), Proposal: p.Id}
		c.Participant, c.Refused = s.change(body)
		changes = append(changes, c)
	}
	s.Proposals = slices.DeleteFunc(kept, func(p Proposal) bool { return s.stale(p) })
	s.Progress.Ranking = slices.DeleteFunc(slices.Clone(s.Progress.Ranking), func(index uint32) bool { return s.participant(index) == nil })
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
	if index, _, ok := proposer(body); ok && !p.Accepted && s.participant(index) == nil {
		return true // who proposed it has gone
	}
	switch b := body.(type) {
	case *tx.Join: // or nobody stands for it any more
		deserted := len(p.Approvals) > 0 && !slices.ContainsFunc(p.Approvals, func(index uint32) bool { return s.participant(index) != nil })
		return !p.Accepted && (deserted || s.mayJoin(b) != nil)
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
