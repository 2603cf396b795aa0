package app

import (
	"fmt"

	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/gradients"
)

// NormError is the error of a gradient whose norm the privacy mechanism cannot have produced. It
// wraps ErrNorm. Norm, Min and Max are squared norms, in squared grid steps.
type NormError struct {
	Participant    uint32
	Norm, Min, Max int64
}

func (e *NormError) Error() string {
	return fmt.Sprintf("%v: squared norm %d of participant %d, want %d to %d", ErrNorm, e.Norm, e.Participant, e.Min,
		e.Max)
}

func (e *NormError) Unwrap() error { return ErrNorm }

// releaseBounds returns the min and max number of vectors that a participant can have made in the
// epoch, up to and including the given round. The min counts the participant's included vectors and
// the vector of this round. The max is one vector in each round since the participant joined.
func (p *Participant) releaseBounds(round uint64) (fewest, most int) {
	return int(p.Releases + 1), int(max(round, p.Joined) - p.Joined + 1)
}

// checkNorm returns a NormError if the mechanism cannot have produced a vector of this norm (G6).
func (s *State) checkNorm(p *Participant, round uint64, v gradients.Vector) error {
	if !s.Params.Privacy.NoiseFloor {
		return nil
	}
	least, greatest := s.Params.Noise().Bounds(p.releaseBounds(round))
	if norm := v.SquaredNorm(); norm < least || norm > greatest {
		return &NormError{Participant: p.Index, Norm: norm, Min: least, Max: greatest}
	}
	return nil
}

// distanceFloor returns the min squared distance that the rule assumes between two included
// gradients (params.Params.DistanceFloor).
func (s *State) distanceFloor(included []tx.Included) int64 {
	if !s.Params.Privacy.NoiseFloor {
		return 0 // nobody is looked up: SetDelta also takes lists that no block may have
	}
	fewest := -1
	for _, in := range included {
		if k, _ := s.Participants[in.Participant].releaseBounds(s.Progress.Round); fewest < 0 || k < fewest {
			fewest = k
		}
	}
	return s.Params.DistanceFloor(s.Progress.Round, fewest)
}
