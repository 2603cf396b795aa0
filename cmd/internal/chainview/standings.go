package chainview

import (
	"fmt"
	"maps"
	"slices"

	"github.com/spdl/spdl/app"
)

// Recent is the number of rounds in a standing.
const Recent = 50

// Standings returns the standing of every participant in the last rounds of an epoch, by number. A participant that
// differed in earlier rounds of the points stays on watch.
func Standings(people []app.Participant, offences []app.Offence, points []Point, epoch uint64) []Standing {
	points = slices.DeleteFunc(slices.Clone(points), func(p Point) bool { return p.Epoch != epoch })
	out, place := []Standing{}, map[uint32]int{}
	for i, who := range people {
		place[who.Index] = i
		out = append(out, Standing{Participant: who.Index, Moniker: who.Moniker, Active: who.Active,
			Reputation: who.Reputation, PassedOver: int(who.PassedOver), Reasons: []string{}})
	}
	differed := make([]*uint64, len(out)) // the last round in which the participant differed
	for t := range points {
		count(out, people, place, &points[t], 1)
		if t >= Recent {
			count(out, people, place, &points[t-Recent], -1)
		}
		for i := range out {
			if out[i].Differed() {
				differed[i] = &points[t].Round
			}
		}
	}
	for _, o := range offences {
		if i, ok := place[o.Participant]; ok {
			out[i].Offences++
		}
	}
	points = points[max(0, len(points)-Recent):]
	weigh(out, place, points)
	for i := range out {
		out[i].Judge(differed[i])
	}
	sayRejected(out, points)
	return out
}

// count adds a round to the standings, or removes it from them.
func count(out []Standing, people []app.Participant, place map[uint32]int, p *Point, sign int) {
	for i := range people {
		if p.Round >= people[i].Joined {
			out[i].Rounds += sign
		}
	}
	each := func(list []uint32, field func(*Standing) *int) {
		for _, index := range list {
			if i, ok := place[index]; ok && p.Round >= people[i].Joined {
				*field(&out[i]) += sign
			}
		}
	}
	each(p.Members, func(s *Standing) *int { return &s.Included })
	each(p.LeftOut, func(s *Standing) *int { return &s.LeftOut })
	each(p.Opposed, func(s *Standing) *int { return &s.Opposed })
	each(p.Refused, func(s *Standing) *int { return &s.Refused })
	each(p.Passed, func(s *Standing) *int { return &s.Passed })
	each([]uint32{p.Leader}, func(s *Standing) *int { return &s.Led })
}

// weigh sets the mean weights of the participants' gradients in rounds whose rule gives weights.
func weigh(out []Standing, place map[uint32]int, points []Point) {
	sums := make([]Tally, len(out))
	for _, p := range points {
		for k, weight := range p.Weights {
			if i, ok := place[p.Members[k]]; ok {
				sums[i].weigh(weight)
			}
		}
	}
	for i := range out {
		out[i].Weight = sums[i].MeanWeight()
	}
}

// sayRejected adds to the reasons of participants with an alarm that this node rejected gradients in their names. It
// raises no alarm of its own, because the round already counts as an absence.
func sayRejected(out []Standing, points []Point) {
	type kind struct {
		participant uint32
		signed      bool
	}
	counts := map[kind]map[string]uint64{} // by reason
	for _, p := range points {
		for _, x := range p.Rejections {
			k := kind{x.Participant, x.Signed}
			if counts[k] == nil {
				counts[k] = map[string]uint64{}
			}
			counts[k][x.Reason] += x.Count
		}
	}
	for i := range out {
		s := &out[i]
		for k, format := range []string{"this node rejected %d of its gradients (%s)",
			"this node rejected %d gradients in its name, which anybody may have sent (%s)"} {
			by := counts[kind{s.Participant, k == 0}]
			for _, reason := range slices.Sorted(maps.Keys(by)) {
				if s.Alarm != OK {
					s.Reasons = append(s.Reasons, fmt.Sprintf(format, by[reason], reason))
				}
			}
		}
	}
}
