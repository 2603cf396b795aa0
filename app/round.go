package app

import (
	"crypto/sha256"

	"github.com/spdl/spdl/app/leader"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/krum/rules"
)

// record is the history of the round that an aggregate closes, without what
// the update brings: reputations and the model's hash.
func (s *State) record(height uint64, a *tx.Aggregate, out rules.Output) *Record {
	digest := sha256.Sum256(out.Delta.Encode())
	r := &Record{
		Epoch: a.Epoch, Round: a.Round, Opened: s.Progress.Opened, Height: height, Leader: a.Leader, View: a.View,
		Margin: out.Margin, DeltaDigest: digest[:], Ranking: s.Progress.Ranking, Rule: s.Params.Rule.Name,
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

// after is a participant's reputation after a round: less by the penalty if
// its gradient's angle to Delta was above pi/2, else more by the reward, within
// [0, 1]. Zero is absorbing.
func (r Reputation) after(reputation int64, opposed bool) int64 {
	switch {
	case reputation == 0:
		return 0
	case opposed:
		return max(0, reputation-r.Penalty)
	}
	return min(One, reputation+r.Reward)
}

// elect ranks the participants with a reputation for the term that begins and
// moves the seed on.
func (s *State) elect() {
	var contenders []uint32
	for _, p := range s.Participants {
		if p.Active && p.Reputation > 0 {
			contenders = append(contenders, p.Index)
		}
	}
	s.Progress.Ranking, s.Progress.Seed = leader.Elect(s.Progress.Seed, s.Progress.Round, contenders)
}
