package explorer

import (
	"context"
	"fmt"
	"strings"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
)

// seen is what the node saw of a closed round in addition to the record. It proves nothing, and
// another node may have seen something else.
type seen struct {
	rejections []query.Rejection
	attempts   []query.Attempt
	attended   bool // the node saw the round close, so attempts has all that it saw
	election   params.Election
	points     []Point
}

// seen asks the node what it saw of a closed round.
func (s *Server) seen(ctx context.Context, r *app.Record) seen {
	at := params.RoundID{Epoch: r.Epoch, Round: r.Round}
	_, running, points, _ := s.tail.now()
	x := seen{election: running.Election, points: points}
	x.rejections, _ = s.source.refusals(ctx, at.String())
	list, err := known[[]query.Attempt](ctx, s.source, "/attempts/"+at.String())
	x.attempts, x.attended = list, err == nil
	return x
}

// tell adds to the reasons of verdicts what the node saw.
func (x seen) tell(verdicts []Verdict, r *app.Record) {
	for i := range verdicts {
		v := &verdicts[i]
		if v.Fate == Absent {
			x.tellRejections(v)
		}
		if v.Fate == Absent {
			v.Why += x.earlier(v.Participant, r)
		}
		if v.Passed {
			v.Why += " It was to lead, and " + x.turn(v.Participant, r) + "."
		}
	}
}

// tellRejections marks an absent participant whose gradient the node rejected.
func (x seen) tellRejections(v *Verdict) {
	for _, y := range x.rejections {
		switch {
		case y.Participant != v.Participant:
		case y.Signed:
			v.Fate = Refused
			v.Why += fmt.Sprintf(" This node rejected its gradient (%s): %s.", y.Reason, RejectionText(y))
		default:
			v.Why += fmt.Sprintf(" This node rejected a gradient in its name (%s); anybody may have sent that.", y.Reason)
		}
	}
}

// RejectionText returns why a gradient was rejected, without the number of the rule.
func RejectionText(x query.Rejection) string {
	switch {
	case x.MinNorm > 0 && x.Norm < x.MinNorm:
		return fmt.Sprintf("norm %.0f; the noise alone makes at least %.0f", x.Norm, x.MinNorm)
	case x.MaxNorm > 0 && x.Norm > x.MaxNorm:
		return fmt.Sprintf("norm %.0f; noise and clipped examples make at most %.0f", x.Norm, x.MaxNorm)
	}
	_, text := app.SplitRule(x.Log)
	return text
}

// earlier says in which earlier rounds the node rejected a participant's gradients. A round does
// not wait for a participant that missed several rounds, so such a participant is absent in this
// round too.
func (x seen) earlier(participant uint32, r *app.Record) string {
	var rounds []uint64
	for _, p := range x.points {
		if p.Epoch == r.Epoch && p.Round < r.Round && has(p.Refused, participant) > 0 {
			rounds = append(rounds, p.Round)
		}
	}
	if len(rounds) == 0 {
		return ""
	}
	return fmt.Sprintf(" This node rejected its gradients of %s; after such rounds the next ones do "+
		"not wait for it.", roundsText(rounds))
}

// turn says why a leader that was passed over did not close the round.
func (x seen) turn(leader uint32, r *app.Record) string {
	for _, a := range x.attempts {
		if a.Leader != leader {
			continue
		}
		switch {
		case len(a.Digest) >= 8 && len(a.Recomputed) >= 8 && a.Digest != a.Recomputed:
			return fmt.Sprintf("the digest of its aggregate, %s, is not the rule's, %s", a.Digest[:8], a.Recomputed[:8])
		case a.Log != "":
			return "its aggregate was not valid: " + RejectionText(query.Rejection{Log: a.Log})
		}
		return "its aggregate was in no block before its turn ended"
	}
	first := r.Opened
	for view, index := range r.Ranking {
		if index == leader && view > 0 {
			first = r.Opened + x.election.QuorumBlocks + uint64(view)*x.election.ViewBlocks
		}
	}
	if heights := int64(r.Height) - int64(first); x.attended && heights > 0 {
		return fmt.Sprintf("this node saw no aggregate of it in %s from %d on", counted(uint64(heights), "height"), first)
	}
	return "no aggregate of it was accepted"
}

// counted returns a number with its noun.
func counted(n uint64, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// roundsText returns ascending rounds as text: "round 3", or ranges.
func roundsText(rounds []uint64) string {
	var parts []string
	for i := 0; i < len(rounds); {
		j := i
		for j+1 < len(rounds) && rounds[j+1] == rounds[j]+1 {
			j++
		}
		part := fmt.Sprint(rounds[i])
		if j > i {
			part += fmt.Sprintf(" to %d", rounds[j])
		}
		parts = append(parts, part)
		i = j + 1
	}
	if more := len(parts) - few; more > 0 {
		parts = append(parts[:few], fmt.Sprintf("%d more times", more))
	}
	noun := "rounds "
	if len(rounds) == 1 {
		noun = "round "
	}
	return noun + strings.Join(parts, ", ")
}
