package worker

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/spdl/spdl/app"
)

// HasMoved reports whether the participant's task in the state differs from the old task: another
// round is open, or the round is in another phase for the participant.
func HasMoved(s *app.State, old *Task) bool {
	return old == nil || old.Epoch != s.Progress.Epoch || old.Round != s.Progress.Round || old.Phase != phaseOf(s,
		old.Participant.Index)
}

// phaseOf returns the phase of the open round for a participant.
func phaseOf(s *app.State, participant uint32) Phase {
	switch {
	case !s.Params.Election.CommitReveal || s.Finished():
		return Reveal
	case s.Progress.Revealing && s.Commitment(participant) != nil:
		return Reveal
	case s.TakesCommits(s.Height + 1):
		return Commit
	}
	return Missed
}

// unknownKey returns ErrNotParticipant, or the error that wraps it and says why pub is not the key
// of an active participant any more.
func unknownKey(s *app.State, pub []byte) error {
	for i := range s.Participants {
		p := &s.Participants[i]
		switch {
		case bytes.Equal(p.PubKey, pub):
			return errLeft
		case slices.ContainsFunc(p.FormerKeys, func(k app.FormerKey) bool { return bytes.Equal(k.PubKey, pub) }):
			return errRotated
		}
	}
	return ErrNotParticipant
}

// NewTask returns the open round's task for the participant with the signing key pub, or
// ErrNotParticipant.
func NewTask(s *app.State, pub []byte) (*Task, error) {
	p, ok := s.Find(pub)
	if !ok {
		return nil, fmt.Errorf("%w: %X", unknownKey(s, pub), pub)
	}
	return &Task{
		ChainID: s.ChainID, Epoch: s.Progress.Epoch, Round: s.Progress.Round, Finished: s.Finished(), Seed: s.Progress.Seed,
		Params: s.Params, Participant: p, Active: s.Active(), Unawaited: !s.Required(p.Index),
		Overdue: s.Overdue(s.Height + 1), Phase: phaseOf(s, p.Index), Model: s.Model,
	}, nil
}
