package explorer

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/spdl/spdl/abci/query"
)

type roundPage struct {
	*Story
	Shown        []Verdict // one page of the verdicts, the most urgent first
	Pager        pager
	Names        map[uint32]string
	Outputs      []Verdict // the largest
	MoreOutputs  int
	Timing       *query.Timing
	Closed       time.Time // time of the block; zero if the node has dropped it
	Before, Next *uint64
	Scored       bool
	Verify       string // the command that checks the round
}

// round shows a closed round, with a verdict on every participant.
func (s *Server) round(r *http.Request) (content, error) {
	at, err := placeOf(r)
	if err != nil {
		return content{}, err
	}
	story, err := s.story(r.Context(), at)
	if err != nil {
		return content{}, err
	}
	b := roundPage{Story: story, Names: map[uint32]string{}}
	for _, v := range story.Verdicts {
		b.Names[v.Participant] = v.Moniker
		b.Scored = b.Scored || v.Place > 0
		if v.VRFOutput != "" {
			b.Outputs = append(b.Outputs, v)
		}
	}
	b.Closed = s.source.times(r.Context(), story.Height, story.Height)[story.Height]
	slices.SortStableFunc(b.Outputs, func(a, c Verdict) int { return cmp.Compare(c.VRFOutput, a.VRFOutput) })
	b.MoreOutputs = max(0, len(b.Outputs)-some)
	b.Outputs = b.Outputs[:len(b.Outputs)-b.MoreOutputs]
	if b.Shown, b.Pager, err = pageOf(r, firstFates(story.Verdicts)); err != nil {
		return content{}, err
	}
	if timing, err := known[query.Timing](r.Context(), s.source, "/timing/"+at.String()); err == nil {
		b.Timing = &timing
	}
	b.Verify = s.verifying(r.Context(), fmt.Sprintf("round %d %d", at.epoch, at.round))
	if at.round > 0 {
		before := at.round - 1
		b.Before = &before
	}
	status, _, _, _ := s.tail.now()
	if next := at.round + 1; at.epoch < status.Epoch || next < status.Round {
		b.Next = &next
	}
	return content{"round", fmt.Sprintf("Round %d of epoch %d", at.round, at.epoch), b}, nil
}

// placeOf parses the epoch and the round in the path of a request.
func placeOf(r *http.Request) (at place, err error) {
	if at.epoch, err = number("epoch", r.PathValue("epoch")); err == nil {
		at.round, err = number("round", r.PathValue("round"))
	}
	return at, err
}

// firstFates sorts verdicts by urgency for an auditor, and verdicts of one kind by number.
func firstFates(all []Verdict) []Verdict {
	rank := func(v Verdict) int {
		switch {
		case v.Opposed:
			return 0
		case v.Fate == Refused:
			return 1
		case v.Passed:
			return 2
		case v.Fate == Absent:
			return 3
		case v.Fate == LeftOut:
			return 4
		}
		return 5
	}
	all = slices.Clone(all)
	slices.SortStableFunc(all, func(a, b Verdict) int { return rank(a) - rank(b) })
	return all
}
