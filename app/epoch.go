package app

import (
	"fmt"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
)

// NewStartEpoch proposes the epoch after the running one.
func NewStartEpoch(participant uint32, nonce, epoch uint64, p params.Params, keepModel, now bool) *tx.StartEpoch {
	return &tx.StartEpoch{Participant: participant, Nonce: nonce, Epoch: epoch, Params: mustMarshal(&p), KeepModel: keepModel, Now: now}
}

// checkStartEpoch is M3 to M5, M8, P1 and P2.
func (s *State) checkStartEpoch(t *tx.Tx, e *tx.StartEpoch) error {
	if _, err := s.checkSender(t, e.Participant); err != nil {
		return err
	}
	if err := s.checkNew(t); err != nil {
		return err
	}
	_, err := s.mayStartEpoch(e)
	return err
}

func (s *State) mayStartEpoch(e *tx.StartEpoch) (params.Params, error) {
	if e.Epoch != s.Progress.Epoch+1 {
		return params.Params{}, fmt.Errorf("%w: epoch %d, the next is %d", ErrEpoch, e.Epoch, s.Progress.Epoch+1)
	}
	p, err := params.Decode(e.Params)
	if err == nil {
		_, err = p.Validate(s.Active())
	}
	if err != nil {
		return p, fmt.Errorf("%w: %w", ErrEpochParams, err)
	}
	if e.KeepModel && p.Model != s.Params.Model {
		return p, fmt.Errorf("%w: the model is kept, and is another: %+v, running %+v", ErrEpochParams, p.Model, s.Params.Model)
	}
	if err := p.CheckBlock(s.Active()); err != nil {
		return p, fmt.Errorf("%w: %w", ErrEpochParams, err)
	}
	return p, nil
}

// startEpoch ends the running epoch and opens the next: new parameters, round
// 0, a new model or the one that is there. Participants, reputations, the seed
// and the ranking go on.
func (s *State) startEpoch(e *tx.StartEpoch) error {
	p, err := s.mayStartEpoch(e)
	if err != nil {
		return err
	}
	model := ModelHash(s.Model)
	s.Epochs = append(s.Epochs, Epoch{
		Epoch: s.Progress.Epoch, Params: s.Params, Rounds: s.Progress.Round, Opened: s.Progress.Began, Closed: s.Height, ModelHash: model[:],
	})
	s.Params = p
	if !e.KeepModel {
		s.Model = initialModel(p.Model, s.Progress.Seed)
	}
	s.Velocity = nil
	if p.Training.Momentum != 0 {
		s.Velocity = make([]float64, len(s.Model))
	}
	s.model, s.velocity = ModelHash(s.Model), ModelHash(s.Velocity)
	s.Progress.Epoch, s.Progress.Round, s.Progress.Began, s.Progress.Opened = e.Epoch, 0, s.Height+1, s.Height+1
	for i := range s.Participants {
		s.Participants[i].Joined, s.Participants[i].Releases = 0, 0
	}
	return nil
}
