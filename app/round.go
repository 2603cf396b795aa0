package app

import (
	"crypto/sha256"
	"slices"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/krum/rules"
)

// record returns the record of the round that an aggregate closes. The caller has checked Delta
// against the aggregate, and later sets the reputations, the VRF outputs and the model's hash.
func (s *State) record(height uint64, a *tx.Aggregate, out rules.Output) *Record {
	digest := a.Digest
	if s.Params.Rule.Tolerance > 0 {
		hash := sha256.Sum256(a.Delta)
		digest = hash[:]
	}
	r := &Record{
		Epoch: a.Epoch, Round: a.Round, Opened: s.Progress.Opened, Height: height, Leader: a.Leader, View: a.View,
		Margin: out.Margin, DeltaDigest: digest, Ranking: s.Progress.Ranking, Seed: s.Progress.Seed, Rule: s.Params.Rule.Name,
		Contributions: make([]Contribution, len(a.Included)), Withheld: s.withholders(a.Included),
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
		c := Contribution{Participant: in.Participant, Selected: selected[at]}
		if out.Score != nil {
			c.Score = out.Score[at]
		}
		r.Contributions[i] = c
	}
	return r
}

// updateReputations updates the reputations and strikes in next. It also writes the results of the
// round's participants into the record. listed are the gradients of vectors.
func (s *State) updateReputations(next *State, record *Record, delta gradients.Fraction, vectors []gradients.Vector,
	listed []*tx.Tx) {
	typical := typicalNorm(vectors)
	for i := range record.Contributions {
		c := &record.Contributions[i]
		p := &next.Participants[c.Participant]
		c.Opposed = delta.Opposes(vectors[i], s.Params.Reputation.Margin, typical)
		p.Reputation = reputationAfter(s.Params.Reputation, p.Reputation, c.Opposed)
	}
	s.judgePrevious(next, listed)
	s.strikeUncommitted(next)
	for i := range record.Contributions {
		c := &record.Contributions[i]
		c.Reputation = next.Participants[c.Participant].Reputation
	}
}

// typicalNorm returns the lower median of the vectors' squared norms, in squared grid steps. If
// fewer than half of the vectors are Byzantine, the median is at most the squared norm of some
// honest vector. The caller passes at least one vector.
func typicalNorm(vectors []gradients.Vector) int64 {
	squares := make([]int64, len(vectors))
	for i, v := range vectors {
		squares[i] = v.SquaredNorm()
	}
	slices.Sort(squares)
	return squares[(len(squares)-1)/2]
}

// reputationAfter returns a participant's reputation after a round, in parts per million, from 0 to params.One. A
// gradient that opposed Delta costs the penalty; any other gradient earns the reward. A reputation of zero stays zero.
func reputationAfter(r params.Reputation, reputation int64, isOpposed bool) int64 {
	switch {
	case reputation == 0:
		return 0
	case isOpposed:
		return max(0, reputation-r.Penalty)
	}
	return min(params.One, reputation+r.Reward)
}
