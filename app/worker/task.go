package worker

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/spdl/spdl/app"
)

// HasMoved reports whether the participant's task in the state differs from lastTask: another round
// is open, or the round is in another phase for the participant.
func HasMoved(s *app.State, lastTask *Task) bool {
	return lastTask == nil || lastTask.Epoch != s.Progress.Epoch || lastTask.Round != s.Progress.Round ||
		lastTask.Phase != phaseOf(s, lastTask.Participant.Index)
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

// unknownKey returns ErrNotParticipant, or an error that wraps it and says why the key does not
// belong to an active participant any more.
func unknownKey(s *app.State, key []byte) error {
	for i := range s.Participants {
		p := &s.Participants[i]
		switch {
		case bytes.Equal(p.PubKey, key):
			return errLeft
		case slices.ContainsFunc(p.FormerKeys, func(k app.FormerKey) bool { return bytes.Equal(k.PubKey, key) }):
			return errRotated
		}
	}
	return ErrNotParticipant
}

// NewTask returns the open round's task for the participant with the signing key pub, or ErrNotParticipant.
func NewTask(s *app.State, pub []byte) (*Task, error) {
	p, ok := s.Find(pub)
	if !ok {
		return nil, fmt.Errorf("%w: %X", unknownKey(s, pub), pub)
	}
	var rest *uint64
	if end, resting := s.RestEnds(p.Index); resting {
		rest = &end
	}
	return &Task{
		ChainID: s.ChainID, Epoch: s.Progress.Epoch, Round: s.Progress.Round, Finished: s.Finished(), Seed: s.Progress.Seed,
		Params: s.Params, Participant: p, Active: s.Active(), Unawaited: !s.Required(p.Index), Rest: rest,
		MayPresent: s.MayPresent(&p), Overdue: s.Overdue(s.Height + 1), Phase: phaseOf(s, p.Index), Model: s.Model,
	}, nil
}
