package app

import (
	"fmt"
	"slices"

	"github.com/spdl/spdl/app/leader"
	"github.com/spdl/spdl/app/params"
)

// This file decides which participant leads: elect ranks the contenders of a closed round (O6), mayLead and OpenView
// say which participant may close the open round, and from which height on (A2, A3), and penaliseLeader makes a leader
// that failed pause.

// elect derives the next seed from the contenders' VRF outputs. It ignores a contender that is no longer active, has
// reputation 0, or may not contend yet (Participant.Contends). At the end of a term elect also ranks the other
// contenders. If two of them tie for the lead, the old ranking remains, and elect ranks again after the next round. A
// participant without a gradient in the round has no VRF output, and so no rank.
func (s *State) elect(contenders []leader.Contender) {
	contenders = slices.DeleteFunc(slices.Clone(contenders), func(c leader.Contender) bool {
		p := s.participant(c.Participant)
		return p == nil || p.Reputation == 0 || p.Contends > s.history.size
	})
	s.Progress.Seed = leader.NextSeed(s.Progress.Seed, contenders)
	if !s.Progress.Tied && s.Progress.Round%s.Params.Election.Term != 0 {
		return
	}
	ranking, tie := leader.Rank(contenders)
	s.Progress.Tied = tie
	if !tie {
		s.Progress.Ranking = ranking
	}
}

// mayLead returns ErrNotLeader if the participant with the given index may not sign an aggregate of
// the given view (A2). With a ranking of k participants:
//
//   - in view v < k, the participant of rank v may sign;
//   - in view k, every active participant with a reputation above 0 may sign;
//   - in view k+1, the last one, every active participant may sign, because all participants with a
//     reputation above 0 may be silent.
//
// If every active participant has reputation 0, every active participant may sign in every view.
func (s *State) mayLead(index, view uint32) error {
	p, ranking := s.participant(index), s.Progress.Ranking
	switch {
	case p == nil:
		return fmt.Errorf("%w: participant %d is not active", ErrNotLeader, index)
	case int(view) > len(ranking)+1:
		return fmt.Errorf("%w: view %d, the last is %d", ErrNotLeader, view, len(ranking)+1)
	case s.allZero() || int(view) > len(ranking):
		return nil
	case p.Reputation <= 0:
		return fmt.Errorf("%w: participant %d has reputation 0", ErrNotLeader, index)
	case int(view) < len(ranking) && ranking[view] != index:
		return fmt.Errorf("%w: participant %d in view %d, its leader is %d", ErrNotLeader, index, view, ranking[view])
	}
	return nil
}

func (s *State) allZero() bool {
	return !slices.ContainsFunc(s.Participants, func(p Participant) bool { return p.Active && p.Reputation > 0 })
}

// OpenView returns the highest view that may close the round at the given height (A3). View 0 begins at the first
// height at which the round can close even if f participants withhold their gradients. If view 0 began earlier, f
// Byzantine proposers in a row could use up the view of an honest leader.
func (s *State) OpenView(height uint64) uint64 {
	e := s.Params.Election
	closes := s.Progress.Opened + e.QuorumBlocks
	return (max(height, closes) - closes) / e.ViewBlocks
}

// viewOf returns the lowest open view in which the participant may lead, or ErrNotLeader.
func (s *State) viewOf(participant uint32, height uint64) (uint32, error) {
	last := min(s.OpenView(height), uint64(len(s.Progress.Ranking)+1))
	var err error
	for view := uint64(0); view <= last; view++ {
		if err = s.mayLead(participant, uint32(view)); err == nil {
			return uint32(view), nil
		}
	}
	return 0, err
}

// These constants limit the penalty of a leader that failed.
const (
	// minByFailing is the lowest reputation, in parts per million, to which this penalty can reduce a leader. A leader at
	// or below minByFailing loses no more, because it may only have been disconnected.
	minByFailing = params.One / 10
	maxPause     = 10 // a leader that failed pauses for at most 2^maxPause rounds
)

// penaliseLeader penalises a leader that let its view pass, or left out a gradient that was there in
// time. Such a leader loses some of its reputation, never all, and does not contend for 2^k rounds,
// where k is the number of such faults in the epoch, at most maxPause. So a leader costs about
// log2(T) views in T rounds, until k reaches maxPause. s is the state before the round.
func (s *State) penaliseLeader(p *Participant) {
	if s.Params.Reputation.PassedOver == 0 {
		return
	}
	if p.Reputation > minByFailing {
		p.Reputation = max(minByFailing, p.Reputation-s.Params.Reputation.PassedOver)
	}
	p.PassedOver = min(p.PassedOver+1, maxPause)
	p.Contends = max(p.Contends, s.history.size+1+1<<p.PassedOver)
}
