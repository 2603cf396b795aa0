package app

import (
	"fmt"
	"strconv"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
)

// NewStartEpoch returns a participant's proposal of an epoch with parameters p. If keepModel is set, the epoch begins
// with the current model. If now is set, the running epoch ends without waiting for the end of its training.
func NewStartEpoch(participant uint32, nonce, epoch uint64, p params.Params, keepModel, now bool) *tx.StartEpoch {
	return &tx.StartEpoch{Participant: participant, Nonce: nonce, Epoch: epoch, Params: mustMarshal(&p),
		KeepModel: keepModel, Now: now}
}

// startEpochOp proposes to end the running epoch and to open the next.
type startEpochOp struct{ *tx.StartEpoch }

func (e startEpochOp) sender() sender { return memberSender(e.Participant, e.Nonce) }

func (e startEpochOp) check(s *State) error {
	_, err := e.checkPossible(s)
	return err
}

func (e startEpochOp) apply(s *State, t *tx.Tx) { s.propose(e, t) }

// isReady reports whether a boundary may end the running epoch now. If Now is set, it may do so at
// any time. If not, it may do so only after the end of training.
func (e startEpochOp) isReady(s *State) bool { return e.Now || s.isOver() }

func (e startEpochOp) isObsolete(s *State) bool { return e.Epoch != s.Progress.Epoch+1 }

// checkPossible returns the decoded parameters of the next epoch. It fails if the proposal is not
// for the next epoch (P1), or if the parameters are not valid for the active participants (P2).
func (e startEpochOp) checkPossible(s *State) (params.Params, error) {
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
	if next, running := p.UnitName(), s.Params.UnitName(); next != running { // their spends cannot be added
		return p, fmt.Errorf("%w: the unit of privacy is %.160q, running %q: it is the same in all epochs", ErrEpochParams,
			next, running)
	}
	if p.Model.Table.Prepares() && !s.Params.Model.Table.Prepares() { // older programs cannot read such a table
		return p, fmt.Errorf("%w: model.table has values, missing or weights, and the running epoch's has none: only "+
			"a new chain can begin with them", ErrEpochParams)
	}
	if e.KeepModel && !p.Model.Equal(s.Params.Model) {
		return p, fmt.Errorf("%w: the model is kept, and is another: %+v, running %+v", ErrEpochParams, p.Model,
			s.Params.Model)
	}
	if err := p.CheckBlock(s.Active()); err != nil {
		return p, fmt.Errorf("%w: %w", ErrEpochParams, err)
	}
	return p, nil
}

// execute ends the running epoch and opens the next one at round 0, with the new parameters, and with the current model
// or an initial model. Participants, reputations, the seed and the ranking stay.
func (e startEpochOp) execute(s *State) (uint32, error) {
	p, err := e.checkPossible(s)
	if err != nil {
		return e.Participant, err
	}
	model := ModelHash(s.Model)
	s.Epochs = append(s.Epochs, Epoch{
		Epoch: s.Progress.Epoch, Params: s.Params, Rounds: s.Progress.Round, Opened: s.Progress.Began, Closed: s.Height,
		ModelHash: model[:],
	})
	s.Params = p
	if !e.KeepModel {
		s.Model = initialModel(p.Model, s.Progress.Seed)
	}
	s.Velocity = firstVelocity(p, s.Model)
	s.model, s.velocity = ModelHash(s.Model), ModelHash(s.Velocity)
	s.Progress.Epoch, s.Progress.Began = e.Epoch, s.Height+1
	s.openRound(0)
	for i := range s.Participants {
		p := &s.Participants[i]
		p.Joined, p.Releases, p.Strikes, p.Rests, p.Presented, p.PassedOver = 0, 0, 0, 0, 0, 0
	}
	return e.Participant, nil
}

func (e startEpochOp) describe() Description {
	d := Description{
		Summary:    fmt.Sprintf("%d proposes epoch %d", e.Participant, e.Epoch),
		Attributes: []Attribute{{"epoch", number(e.Epoch)}},
		Details:    []Attribute{{"keep model", strconv.FormatBool(e.KeepModel)}, {"now", strconv.FormatBool(e.Now)}},
	}
	p, err := params.Decode(e.Params)
	if err != nil {
		d.Details = append(d.Details, Attribute{"parameters", err.Error()})
		return d
	}
	d.Details = append(d.Details, Attribute{"preset", p.Preset}, Attribute{"rounds", number(p.Training.Rounds)},
		Attribute{"model", fmt.Sprintf("%s of %d parameters", p.Model.Kind, p.Model.Dim())},
		Attribute{"rule", p.Rule.Name}, Attribute{"privacy", guarantee(p)})
	return d
}

// guarantee describes in words the privacy guarantee of an epoch with parameters p.
func guarantee(p params.Params) string {
	switch {
	case len(p.Privacy.Cost) == 0:
		return fmt.Sprintf("mechanism %s with NO DP GUARANTEE", p.Privacy.Mechanism)
	case p.TestChain:
		return "TEST CHAIN: noise may be known, nothing is private"
	}
	said := fmt.Sprintf("noise multiplier %g, epsilon %g at delta %g over all epochs for the unit %s",
		p.Privacy.NoiseMultiplier, p.Privacy.Epsilon, p.Privacy.Delta, p.UnitName())
	if claim := p.Privacy.Lemma1Epsilon; claim != 0 {
		said += fmt.Sprintf(", of which Lemma 1 claims epsilon %g with NO GUARANTEE", claim)
	}
	return said
}
