package app

import (
	"fmt"

	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/gradients"
)

// releaseBounds returns the least and the greatest number of vectors that a participant
// has made for the epoch, with the one for a round: it made those that were
// included and this one, and no more than one a round since it joined.
func (p *Participant) releaseBounds(round uint64) (fewest, most int) {
	return int(p.Releases + 1), int(max(round, p.Joined) - p.Joined + 1)
}

// checkNorm applies G6: the norm of a vector is one that the mechanism can have made.
func (s *State) checkNorm(p *Participant, round uint64, v gradients.Vector) error {
	if !s.Params.Privacy.NoiseFloor {
		return nil
	}
	least, greatest := s.Params.Noise().Bounds(p.releaseBounds(round))
	if norm := v.SquaredNorm(); norm < least || norm > greatest {
		return fmt.Errorf("%w: squared norm %d of participant %d, want %d to %d", ErrNorm, norm, p.Index, least, greatest)
	}
	return nil
}

// distanceFloor returns the least squared distance that the rule counts between two included
// gradients. The participant with the fewest releases decides it, whose noise is the smallest.
func (s *State) distanceFloor(included []tx.Included) int64 {
	if !s.Params.Privacy.NoiseFloor {
		return 0
	}
	fewest := -1
	for _, in := range included {
		if k, _ := s.Participants[in.Participant].releaseBounds(s.Progress.Round); fewest < 0 || k < fewest {
			fewest = k
		}
	}
	return s.Params.Noise().Distance(fewest)
}
