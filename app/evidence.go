package app

import (
	"fmt"

	"github.com/spdl/spdl/app/tx"
)

// checkEvidence is E1 to E3: two statements in one place, signed by a
// participant, about what is neither punished nor settled yet.
func (s *State) checkEvidence(e *tx.Evidence) (tx.Place, error) {
	at, err := e.Conflict()
	if err != nil {
		return at, fmt.Errorf("%w: %w", ErrEvidence, err)
	}
	p := s.participant(at.Participant)
	if p == nil {
		return at, fmt.Errorf("%w: participant %d is not active", ErrEvidence, at.Participant)
	}
	if earlier(at.Epoch, at.Round, p.SettledEpoch, p.SettledRound) {
		return at, fmt.Errorf("%w: epoch %d round %d, a restore settled all before epoch %d round %d", ErrSettled, at.Epoch, at.Round, p.SettledEpoch, p.SettledRound)
	}
	if earlier(s.Progress.Epoch, s.Progress.Round+1, at.Epoch, at.Round) {
		return at, fmt.Errorf("%w: epoch %d round %d is still to come, open is epoch %d round %d", ErrEvidence, at.Epoch, at.Round, s.Progress.Epoch, s.Progress.Round)
	}
	for _, o := range s.Offences {
		same := o.Kind == uint32(at.Kind) && o.Epoch == at.Epoch && o.Round == at.Round && o.View == at.View
		if o.Participant == p.Index && (same || o.Height > p.SettledHeight) {
			return at, fmt.Errorf("%w: participant %d is punished already, at height %d for epoch %d round %d", ErrSettled, p.Index, o.Height, o.Epoch, o.Round)
		}
	}
	if err := e.VerifyBy(s.ChainID, p.signingKeys()...); err != nil {
		return at, fmt.Errorf("%w: %w", ErrEvidenceSigned, err)
	}
	return at, nil
}

func earlier(epoch, round, thanEpoch, thanRound uint64) bool {
	return epoch < thanEpoch || epoch == thanEpoch && round < thanRound
}

// punish takes the whole reputation of an equivocator.
func (s *State) punish(height uint64, t *tx.Tx, e *tx.Evidence) {
	at, err := e.Conflict()
	if err != nil {
		panic(err) // checkEvidence has seen it
	}
	s.Participants[at.Participant].Reputation = 0
	s.Offences = append(s.Offences, Offence{
		Participant: at.Participant, Kind: uint32(at.Kind), Epoch: at.Epoch, Round: at.Round, View: at.View,
		Height: height, Evidence: append([]byte(nil), t.Content[:]...),
	})
}
