package app

import (
	"crypto/sha256"
	"slices"

	"github.com/spdl/spdl/app/leader"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/krum/rules"
)

// record is the history of the round that an aggregate closes, without what
// the update brings: reputations and the model's hash.
func (s *State) record(height uint64, a *tx.Aggregate, out rules.Output) *Record {
	digest := sha256.Sum256(out.Delta.Encode())
	r := &Record{
		Epoch: a.Epoch, Round: a.Round, Opened: s.Progress.Opened, Height: height, Leader: a.Leader, View: a.View,
		Margin: out.Margin, DeltaDigest: digest[:], Ranking: s.Progress.Ranking, Seed: s.Progress.Seed, Rule: s.Params.Rule.Name,
		Contributions: make([]Contribution, len(a.Included)),
	}
	inputs := s.inputs(a.Included)
	position := make([]int, len(s.Participants))
	for i, index := range inputs {
		position[index] = i
	}
	selected := make([]bool, len(inputs))
	for _, i := range out.Selected {
		selected[i] = true
	}
	for i, in := range a.Included {
		at := position[in.Participant]
		c := Contribution{Participant: in.Participant, Hash: in.Hash, Selected: selected[at]}
		if out.Score != nil {
			c.Score = out.Score[at]
		}
		if out.Neighbours != nil {
			for _, k := range out.Neighbours[at] {
				c.Neighbours = append(c.Neighbours, inputs[k])
			}
		}
		r.Contributions[i] = c
	}
	return r
}

// reputationAfter is a participant's reputation after a round: less by the penalty if
// its gradient's angle to Delta was above pi/2, else more by the reward, within
// [0, 1]. Zero is absorbing.
func reputationAfter(r params.Reputation, reputation int64, opposed bool) int64 {
	switch {
	case reputation == 0:
		return 0
	case opposed:
		return max(0, reputation-r.Penalty)
	}
	return min(params.One, reputation+r.Reward)
}

// elect moves the seed on with a round's lots and, at the end of a term, ranks
// the contenders: those who drew, are active still, have a reputation and a VRF
// key that is old enough. After a tie for the lead the ranking stays, and the
// election is held again with the next round's lots, over the next seed. Nobody
// without a lot, who was silent or has just joined, is ranked.
func (s *State) elect(draws []leader.Draw) {
	draws = slices.DeleteFunc(slices.Clone(draws), func(d leader.Draw) bool {
		p := s.participant(d.Participant)
		return p == nil || p.Reputation == 0 || p.Contends > s.history.size
	})
	s.Progress.Seed = leader.NextSeed(s.Progress.Seed, draws)
	if !s.Progress.Redraw && s.Progress.Round%s.Params.Election.Term != 0 {
		return
	}
	ranking, tie := leader.Rank(draws)
	s.Progress.Redraw = tie
	if !tie {
		s.Progress.Ranking = ranking
	}
}
