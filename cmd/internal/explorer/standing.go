package explorer

import (
	"context"
	"slices"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/cmd/internal/chainview"
)

// recent is the number of rounds in a standing.
const recent = 50

// standings returns the standings of all participants, by number, cached since the last look at the
// chain. Callers must not change them.
func (s *Server) standings(ctx context.Context) ([]chainview.Standing, error) {
	all, err := s.source.answers.get(ctx, s.source.looks.Load(), "standings", func() (any, error) { return s.judged(ctx) })
	out, _ := all.([]chainview.Standing)
	return out, err
}

// judged computes the standings.
func (s *Server) judged(ctx context.Context) ([]chainview.Standing, error) {
	status, _, points, err := s.tail.now()
	if err != nil {
		return nil, err
	}
	people, err := s.source.participants(ctx)
	if err != nil {
		return nil, err
	}
	offences, err := known[[]app.Offence](ctx, s.source, "/evidence")
	if err != nil {
		return nil, err
	}
	return standings(people, offences, points, status.Epoch), nil
}

// standings returns the standing of every participant in the last rounds of the running epoch. A
// participant that differed in earlier rounds of the points stays on watch.
func standings(people []app.Participant, offences []app.Offence, points []Point, epoch uint64) []chainview.Standing {
	points = slices.DeleteFunc(slices.Clone(points), func(p Point) bool { return p.Epoch != epoch })
	out := []chainview.Standing{}
	place := map[uint32]int{}
	for i, who := range people {
		place[who.Index] = i
		out = append(out, chainview.Standing{Participant: who.Index, Moniker: who.Moniker, Active: who.Active,
			Reputation: who.Reputation, PassedOver: int(who.PassedOver), Reasons: []string{}})
	}
	differed := make([]*uint64, len(out)) // the last round in which the participant differed
	for t := range points {
		tallyInto(out, people, place, &points[t], 1)
		if t >= recent {
			tallyInto(out, people, place, &points[t-recent], -1)
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
	setWeights(out, place, points[max(0, len(points)-recent):])
	for i := range out {
		out[i].Judge(differed[i])
	}
	sayRefused(out, points)
	return out
}

// setWeights sets the mean weights of the participants' gradients in rounds whose rule gives weights.
func setWeights(out []chainview.Standing, place map[uint32]int, points []Point) {
	sums, rounds := make([]float64, len(out)), make([]int, len(out))
	for _, p := range points {
		for k, weight := range p.weights {
			if i, ok := place[p.included[k]]; ok {
				sums[i], rounds[i] = sums[i]+weight, rounds[i]+1
			}
		}
	}
	for i := range out {
		if rounds[i] > 0 {
			mean := sums[i] / float64(rounds[i])
			out[i].Weight = &mean
		}
	}
}

// tallyInto adds a round to the standings, or removes it from them.
func tallyInto(out []chainview.Standing, people []app.Participant, place map[uint32]int, p *Point, sign int) {
	for i := range people {
		if p.Round >= people[i].Joined {
			out[i].Rounds += sign
		}
	}
	each := func(list []uint32, count func(*chainview.Standing) *int) {
		for _, index := range list {
			if i, ok := place[index]; ok && p.Round >= people[i].Joined {
				*count(&out[i]) += sign
			}
		}
	}
	each(p.included, func(s *chainview.Standing) *int { return &s.Included })
	each(p.LeftOut, func(s *chainview.Standing) *int { return &s.LeftOut })
	each(p.Opposed, func(s *chainview.Standing) *int { return &s.Opposed })
	each(p.Refused, func(s *chainview.Standing) *int { return &s.Refused })
	each(p.Passed, func(s *chainview.Standing) *int { return &s.Passed })
	each([]uint32{p.Leader}, func(s *chainview.Standing) *int { return &s.Led })
}
