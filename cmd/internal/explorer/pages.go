package explorer

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
)

// listed returns numbers as a list for a sentence.
func listed(of []uint32) string {
	if len(of) == 0 {
		return "none"
	}
	return strings.Join(strings.Fields(strings.Trim(fmt.Sprint(of), "[]")), ", ")
}

// number parses a part of the path or query.
func number(name, text string) (uint64, error) {
	x, err := strconv.ParseUint(text, 10, 63)
	if err != nil {
		return 0, fmt.Errorf("%w: %s %q is no number from 0 on", errBad, name, short(text, 40))
	}
	return x, nil
}

// shown is the number of rounds that a page lists.
const shown = 25

// drawn is the number of rounds in the grid.
const drawn = 48

type homePage struct {
	Last                    *Point
	Accuracy, Loss, Epsilon spark
	Standings               []Standing // the first standings
	People, More            int        // number of all participants, and of those not shown
	Suspects                []Standing
	Alarms, MoreAlarms      int
	Tally                   *tally
	Reputations             []bar // of many
	Grid                    grid
	Rounds                  []Point
	Names                   map[uint32]string
	Budget                  float64
	Mechanism               string
	Unmeasured              string // the reason for which there is no accuracy
}

// home shows the training at a glance: curves, alarms, and the last rounds.
func (s *Server) home(r *http.Request) (content, error) {
	status, running, points, err := s.tail.now()
	if err != nil {
		return content{}, err
	}
	all, err := s.standings(r.Context())
	if err != nil {
		return content{}, err
	}
	points = slices.DeleteFunc(points, func(p Point) bool { return p.Epoch != status.Epoch })
	all = firstConcerns(all)
	b := homePage{Standings: all[:min(some, len(all))], People: len(all), More: max(0, len(all)-some),
		Names: map[uint32]string{}, Budget: running.Privacy.Epsilon, Mechanism: running.Privacy.Mechanism,
		Unmeasured: s.tail.whyUnmeasured()}
	for _, st := range all {
		b.Names[st.Participant] = st.Moniker
		if st.Alarm == Suspect {
			b.Alarms++
			b.Suspects = append(b.Suspects, st)
		}
	}
	b.Suspects = b.Suspects[:min(few, len(b.Suspects))]
	b.MoreAlarms = b.Alarms - len(b.Suspects)
	if b.More > 0 {
		b.Reputations = reputations(all)
	}
	if n := len(points); n > 0 {
		t := tallyOf(points[n-1], all)
		b.Tally = &t
	}
	for i := range points {
		if points[i].Accuracy != nil || b.Last == nil {
			b.Last = &points[i]
		}
	}
	b.Accuracy = sparkOf("accuracy", points, func(p Point) *float64 { return p.Accuracy })
	b.Loss = sparkOf("loss", points, func(p Point) *float64 { return p.Loss })
	b.Epsilon = sparkOf("epsilon", points, func(p Point) *float64 { return p.Epsilon })
	b.Grid = gridOf(points[max(0, len(points)-drawn):], b.Standings)
	b.Rounds = newestFirst(points, shown)
	return content{"home", "Training", b}, nil
}

// standings returns the standings of all participants, by number, cached since the last look at the
// chain. Callers must not change them.
func (s *Server) standings(ctx context.Context) ([]Standing, error) {
	all, err := s.source.answers.get(ctx, s.source.looks.Load(), "standings", func() (any, int, error) {
		all, err := s.judged(ctx)
		return all, 1, err
	})
	out, _ := all.([]Standing)
	return out, err
}

// judged computes the standings.
func (s *Server) judged(ctx context.Context) ([]Standing, error) {
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
	out := standings(people, offences, points, status.Epoch)
	passed := s.tail.passed.totals()
	for i := range out {
		out[i].PassedInAll = passed[out[i].Participant]
	}
	return out, nil
}

// newestFirst returns the last n points, the newest first.
func newestFirst(points []Point, n int) []Point {
	out := slices.Clone(points[max(0, len(points)-n):])
	slices.Reverse(out)
	return out
}

type roundsPage struct {
	Points      []Point
	Epochs      []query.EpochState
	Epoch       uint64
	Older       *uint64
	Newer       *uint64
	From, Until uint64
}

// rounds lists rounds of an epoch, 25 a page, by ?epoch= and ?before=.
func (s *Server) rounds(r *http.Request) (content, error) {
	epochs, err := known[[]query.EpochState](r.Context(), s.source, "/epochs")
	if err != nil {
		return content{}, err
	}
	if len(epochs) == 0 {
		return content{}, fmt.Errorf("%w: no epoch", errNotFound)
	}
	of := epochs[len(epochs)-1]
	if q := r.URL.Query().Get("epoch"); q != "" {
		epoch, err := number("epoch", q)
		if err != nil {
			return content{}, err
		}
		i := slices.IndexFunc(epochs, func(e query.EpochState) bool { return e.Epoch == epoch })
		if i < 0 {
			return content{}, fmt.Errorf("%w: epoch %d", errNotFound, epoch)
		}
		of = epochs[i]
	}
	until := of.Rounds
	if q := r.URL.Query().Get("before"); q != "" {
		x, err := number("before", q)
		if err != nil {
			return content{}, err
		}
		until = min(until, x)
	}
	b := roundsPage{Epochs: epochs, Epoch: of.Epoch, From: until - min(until, shown), Until: until}
	points := s.tail.known()
	for t := until; t > b.From; t-- {
		record, err := s.source.record(r.Context(), place{of.Epoch, t - 1})
		if err != nil {
			return content{}, err
		}
		p, ok := points[place{of.Epoch, t - 1}]
		if !ok {
			p = pointOf(record)
		}
		b.Points = append(b.Points, p)
	}
	if n := len(b.Points); n > 0 {
		at := s.source.times(r.Context(), b.Points[n-1].Height, b.Points[0].Height)
		for i := range b.Points {
			b.Points[i].At = at[b.Points[i].Height]
		}
	}
	if b.From > 0 {
		b.Older = &b.From
	}
	if until < of.Rounds {
		newer := min(until+shown, of.Rounds)
		b.Newer = &newer
	}
	return content{"rounds", "Rounds", b}, nil
}

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

// participants lists all participants, 100 a page, or those that match ?q=.
func (s *Server) participants(r *http.Request) (content, error) {
	all, err := s.standings(r.Context())
	if err != nil {
		return content{}, err
	}
	spends, err := known[[]query.Spend](r.Context(), s.source, "/privacy")
	if err != nil {
		return content{}, err
	}
	members, err := known[query.Membership](r.Context(), s.source, "/membership")
	if err != nil {
		return content{}, err
	}
	by := map[uint32]query.Spend{}
	for _, x := range spends {
		by[x.Participant] = x
	}
	people, err := s.source.participants(r.Context())
	if err != nil {
		return content{}, err
	}
	wanted := r.URL.Query().Get("q")
	rows, at, err := pageOf(r, matching(firstConcerns(all), people, wanted))
	if err != nil {
		return content{}, err
	}
	return content{"participants", "Participants", struct {
		Standings []Standing
		Spends    map[uint32]query.Spend
		Wanted    string
		Pager     pager
		query.Membership
	}{rows, by, short(wanted, 100), at, members}}, nil
}
