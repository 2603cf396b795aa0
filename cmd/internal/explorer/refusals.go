package explorer

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/cmd/internal/chainview"

	"github.com/spdl/spdl/app/params"
)

// refusals asks the node for the gradients that it rejected: those of a round, or for "" all that
// it remembers. A node of an earlier release does not know the query.
func (s *source) refusals(ctx context.Context, of string) ([]query.Rejection, error) {
	path := "/refusals"
	if of != "" {
		path += "/" + of
	}
	return known[[]query.Rejection](ctx, s, path)
}

// refusals marks the participants whose gradients the node rejected. It leaves out participants
// with an included gradient, because the rejected gradient was then another one, or came at another
// time.
func (t *tail) refusals(ctx context.Context, points []Point) {
	if len(points) == 0 {
		return
	}
	of := ""
	if len(points) == 1 {
		of = params.RoundID{Epoch: points[0].Epoch, Round: points[0].Round}.String()
	}
	all, err := t.source.refusals(ctx, of)
	if err != nil {
		return
	}
	for _, x := range all {
		i := slices.IndexFunc(points, func(p Point) bool { return p.Epoch == x.Epoch && p.Round == x.Round })
		if i < 0 || has(points[i].included, x.Participant) > 0 {
			continue
		}
		points[i].refusals = append(points[i].refusals, x)
		if x.Signed && has(points[i].Refused, x.Participant) == 0 {
			points[i].Refused = append(points[i].Refused, x.Participant)
		}
	}
}

// sayRefused adds to the reasons of participants with an alarm that this node rejected gradients in
// their names in the last rounds. It raises no alarm of its own, because the round already counts
// as an absence.
func sayRefused(out []chainview.Standing, points []Point) {
	type kind struct {
		participant uint32
		signed      bool
	}
	counts := map[kind]map[string]uint64{}
	for _, p := range points[max(0, len(points)-recent):] {
		for _, x := range p.refusals {
			k := kind{x.Participant, x.Signed}
			if counts[k] == nil {
				counts[k] = map[string]uint64{}
			}
			counts[k][x.Reason] += x.Count
		}
	}
	say := func(s *chainview.Standing, signed bool, format string) {
		by := counts[kind{s.Participant, signed}]
		for _, reason := range slices.Sorted(maps.Keys(by)) {
			s.Reasons = append(s.Reasons, fmt.Sprintf(format, by[reason], reason))
		}
	}
	for i := range out {
		if out[i].Alarm != chainview.OK {
			say(&out[i], true, "this node rejected %d of its gradients (%s)")
			say(&out[i], false, "this node rejected %d gradients in its name, which anybody may have sent (%s)")
		}
	}
}
