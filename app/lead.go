package app

import (
	"crypto/sha256"
	"fmt"

	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/krum/rules"
)

// Lead drafts the aggregate that the participant may sign to close the open
// round at a height, over gradients that Admit accepted, in the lowest view in
// which the participant may lead. It returns ErrNotLeader or ErrViewClosed while
// the participant may not lead, and ErrNotClosing while gradients are missing.
func (s *State) Lead(height uint64, participant uint32, pending []*tx.Tx) (*tx.Aggregate, error) {
	if s.Finished() {
		return nil, ErrFinished
	}
	view, err := s.viewOf(participant, height)
	if err != nil {
		return nil, err
	}
	included := s.open(pending)
	n, least := s.Active(), s.Active()-s.F()
	if len(included) < least {
		return nil, fmt.Errorf("%w: %d of %d gradients, at least %d are needed", ErrNotClosing, len(included), n, least)
	}
	a := &tx.Aggregate{Epoch: s.Progress.Epoch, Round: s.Progress.Round, Leader: participant, View: view}
	vectors := make([]gradients.Vector, len(included))
	for _, t := range included {
		a.Included = append(a.Included, tx.Included{Participant: t.Gradient.Participant, Hash: t.Content[:]})
	}
	if err := s.mayCloseWith(participantsOf(a.Included), height); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotClosing, err)
	}
	for i, t := range included {
		if vectors[i], err = gradients.Decode(s.Grid().Width, len(s.Model), t.Gradient.Payload); err != nil {
			return nil, fmt.Errorf("%w: %w", ErrPayload, err)
		}
	}
	out, err := s.aggregate(a.Included, vectors)
	if err != nil {
		return nil, err
	}
	encoded := out.Delta.Encode()
	if s.Params.Rule.Tolerance > 0 {
		a.Delta = encoded
	} else {
		digest := sha256.Sum256(encoded)
		a.Digest = digest[:]
	}
	return a, nil
}

// viewOf returns the lowest open view in which the participant may lead.
func (s *State) viewOf(participant uint32, height uint64) (uint32, error) {
	last := min(s.openViews(height), uint64(len(s.Progress.Ranking)+1))
	var err error
	for view := uint64(0); view <= last; view++ {
		if err = s.mayLead(participant, uint32(view)); err == nil {
			return uint32(view), nil
		}
	}
	return 0, err
}

// open picks the gradients of the open round, one a participant, in
// participant order.
func (s *State) open(pending []*tx.Tx) []*tx.Tx {
	slots := make([]*tx.Tx, len(s.Participants))
	for _, t := range pending {
		g := t.Gradient
		if g != nil && g.Epoch == s.Progress.Epoch && g.Round == s.Progress.Round && s.participant(g.Participant) != nil && slots[g.Participant] == nil {
			slots[g.Participant] = t
		}
	}
	out := make([]*tx.Tx, 0, len(slots))
	for _, t := range slots {
		if t != nil {
			out = append(out, t)
		}
	}
	return out
}

// aggregate runs the epoch's rule. With the paper's option a silent
// participant counts as the zero vector; else it is absent, which the rules
// take as an infinite distance, and N stays what it is.
func (s *State) aggregate(included []tx.Included, vectors []gradients.Vector) (rules.Output, error) {
	floor := s.distanceFloor(included)
	if s.Params.Rule.Zeros {
		vectors = s.withZeros(included, vectors)
	}
	return s.rule.Aggregate(rules.Input{
		N: s.Active(), F: s.F(), Vectors: vectors, Unsquared: s.Params.Rule.Unsquared, Floor: floor, Seed: s.Progress.Seed,
	})
}

func (s *State) withZeros(included []tx.Included, vectors []gradients.Vector) []gradients.Vector {
	zero := gradients.NewVector(s.Grid().Width, len(s.Model))
	all := make([]gradients.Vector, 0, s.Active())
	next := 0
	for _, index := range s.inputs(included) {
		if next < len(included) && included[next].Participant == index {
			all = append(all, vectors[next])
			next++
		} else {
			all = append(all, zero)
		}
	}
	return all
}

// inputs lists the participants behind the rule's inputs, by position.
func (s *State) inputs(included []tx.Included) []uint32 {
	var out []uint32
	if !s.Params.Rule.Zeros {
		for _, in := range included {
			out = append(out, in.Participant)
		}
		return out
	}
	for i := range s.Participants {
		if s.Participants[i].Active {
			out = append(out, s.Participants[i].Index)
		}
	}
	return out
}
