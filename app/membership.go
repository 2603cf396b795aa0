package app

import (
	"bytes"
	"fmt"
	"slices"

	"github.com/spdl/spdl/gradients"
)

// checkFeasible returns ErrInfeasible if the consortium cannot have n active participants (M6).
func (s *State) checkFeasible(n int) error {
	if registered := len(s.Participants); n > s.Active() && registered >= gradients.MaxParticipants {
		return fmt.Errorf("%w: %d participants were registered, at most %d", ErrInfeasible, registered,
			gradients.MaxParticipants)
	}
	rule := s.Params.Rule
	rule.Byzantine = uint32(rule.F(n))
	if err := rule.Validate(n); err != nil {
		return fmt.Errorf("%w: with %d participants: %w", ErrInfeasible, n, err)
	}
	if err := s.Params.CheckBlock(n); err != nil {
		return fmt.Errorf("%w: %w", ErrInfeasible, err)
	}
	return nil
}

// ValidatorUpdate is a change of CometBFT's validator set.
type ValidatorUpdate struct {
	ConsensusKey []byte
	Power        int64 // 0 removes the validator
}

// validatorUpdates returns the changes that turn the validator set of oldMembers into the validator
// set of newMembers.
func validatorUpdates(oldMembers, newMembers []Participant) []ValidatorUpdate {
	holds := func(all []Participant, key []byte) bool {
		return slices.ContainsFunc(all, func(p Participant) bool { return p.Active && bytes.Equal(p.ConsensusKey, key) })
	}
	var out []ValidatorUpdate
	for _, p := range oldMembers {
		if p.Active && len(p.ConsensusKey) > 0 && !holds(newMembers, p.ConsensusKey) {
			out = append(out, ValidatorUpdate{p.ConsensusKey, 0})
		}
	}
	for _, p := range newMembers {
		if p.Active && len(p.ConsensusKey) > 0 && !holds(oldMembers, p.ConsensusKey) {
			out = append(out, ValidatorUpdate{p.ConsensusKey, Power})
		}
	}
	return out
}
