package app

import (
	"fmt"

	"github.com/spdl/spdl/app/tx"
)

// evidence proves an equivocation: one participant signed two different statements for one tx.Place. The two signatures
// are the proof, so the transaction needs no signature of its own, and any node may send it.
type evidence struct{ *tx.Evidence }

func (e evidence) sender() sender {
	at, _ := e.Conflict() // check rejects evidence without a conflict
	return proofAgainst(at.Participant)
}

// check accepts only evidence that proves a new offence of an active participant (E1 to E3):
//
//   - The participant signed two different statements for one tx.Place.
//   - The round of that place is at or after the round of the participant's last restore, and at
//     most one round after the open round.
//   - The participant has no offence for that place, and no offence since its last restore.
func (e evidence) check(s *State) error {
	at, err := e.Conflict()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrEvidence, err)
	}
	p := s.participant(at.Participant)
	if p == nil {
		return fmt.Errorf("%w: participant %d is not active", ErrEvidence, at.Participant)
	}
	if isEarlier(at.Epoch, at.Round, p.SettledEpoch, p.SettledRound) {
		return fmt.Errorf("%w: epoch %d round %d, a restore settled all before epoch %d round %d", ErrSettled, at.Epoch,
			at.Round, p.SettledEpoch, p.SettledRound)
	}
	if isEarlier(s.Progress.Epoch, s.Progress.Round+1, at.Epoch, at.Round) {
		return fmt.Errorf("%w: epoch %d round %d is still to come, open is epoch %d round %d", ErrEvidence, at.Epoch,
			at.Round, s.Progress.Epoch, s.Progress.Round)
	}
	for _, o := range s.Offences {
		same := o.Kind == uint32(at.Kind) && o.Epoch == at.Epoch && o.Round == at.Round && o.View == at.View
		if o.Participant == p.Index && (same || o.Height > p.SettledHeight) {
			return fmt.Errorf("%w: participant %d is punished already, at height %d for epoch %d round %d", ErrSettled, p.Index,
				o.Height, o.Epoch, o.Round)
		}
	}
	if err := e.VerifyBy(s.ChainID, p.signingKeys(at.Epoch, at.Round)...); err != nil {
		return fmt.Errorf("%w: %w", ErrEvidenceSigned, err)
	}
	return nil
}

// isEarlier reports whether round comes before thanRound. The rounds belong to the epochs epoch and
// thanEpoch, which may be equal.
func isEarlier(epoch, round, thanEpoch, thanRound uint64) bool {
	return epoch < thanEpoch || epoch == thanEpoch && round < thanRound
}

// apply sets the equivocator's reputation to 0 and records the offence.
func (e evidence) apply(s *State, t *tx.Tx) {
	at, err := e.Conflict()
	if err != nil {
		panic(err) // check has accepted the conflict
	}
	s.punish(Offence{
		Participant: at.Participant, Kind: uint32(at.Kind), Epoch: at.Epoch, Round: at.Round, View: at.View,
		Height: s.Height, Evidence: append([]byte(nil), t.Content[:]...),
	})
}

func (e evidence) describe() Description {
	at, err := e.Conflict()
	if err != nil {
		return Description{Summary: err.Error()}
	}
	return Description{
		Summary: fmt.Sprintf("evidence against %d: two %ss for epoch %d round %d view %d", at.Participant, at.Kind, at.Epoch,
			at.Round, at.View),
		Attributes: []Attribute{
			{"participant", number(at.Participant)}, {"epoch", number(at.Epoch)}, {"round", number(at.Round)},
			{"of", at.Kind.String()},
		},
	}
}

// punish sets a participant's reputation to 0 and records the offence.
func (s *State) punish(o Offence) {
	s.Participants[o.Participant].Reputation = 0
	s.Offences = append(s.Offences, o)
}
