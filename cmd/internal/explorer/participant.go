package explorer

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strconv"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/chainview"
)

type participantPage struct {
	Who               app.Participant
	Standing          chainview.Standing
	Spend             query.Spend
	Offences          []app.Offence
	Incidents         []chainview.Incident
	Spans             []chainview.Span
	Rounds            []chainview.Result // newest first
	Led, Failed       int                // in these rounds
	Active            int                // the number of active participants
	Reputation, Spent chart
	Verify            string // the command that verifies it
}

func (b participantPage) tables() []table { return []table{b.Reputation.table(), b.Spent.table()} }

// Share is the spent share of the budget, or negative without a budget.
func (b participantPage) Share() float64 {
	if b.Spend.Epsilon == nil || b.Spend.Budget <= 0 {
		return -1
	}
	return *b.Spend.Epsilon / b.Spend.Budget
}

// participant shows one participant: its results in the last rounds, its spent privacy and its
// offences.
func (s *Server) participant(r *http.Request) (content, error) {
	index, err := number("participant", r.PathValue("index"))
	if err != nil {
		return content{}, err
	}
	people, closed, whole, err := s.source.ledger(r.Context())
	if err != nil {
		return content{}, err
	}
	all, err := s.standings(r.Context())
	if err != nil {
		return content{}, err
	}
	if index >= uint64(min(len(people), len(all))) { // the node may answer for another chain between the queries
		return content{}, fmt.Errorf("%w: participant %d of %d", errNotFound, index, len(people))
	}
	b := participantPage{Who: people[index], Standing: all[index]}
	for _, st := range all {
		if st.Active {
			b.Active++
		}
	}
	if b.Spend, err = known[query.Spend](r.Context(), s.source, "/privacy/"+strconv.FormatUint(index, 10)); err != nil {
		return content{}, err
	}
	offences, err := known[[]app.Offence](r.Context(), s.source, "/evidence")
	if err != nil {
		return content{}, err
	}
	b.Offences = slices.DeleteFunc(slices.Clone(offences),
		func(o app.Offence) bool { return uint64(o.Participant) != index })
	if b.Rounds, err = s.results(r.Context(), people, closed, whole, uint32(index), offences); err != nil {
		return content{}, err
	}
	for i := range b.Rounds {
		f, before := &b.Rounds[i], uint64(0)
		if i > 0 {
			before = b.Rounds[i-1].Height
		}
		f.Verdict.Convict(f.Point, before, b.Offences)
	}
	b.Verify = s.verifying(r.Context(), fmt.Sprintf("participant %d", index))
	b.summarise(fmt.Sprintf("/participant/%d", index))
	return content{"participant", fmt.Sprintf("Participant %d", index), b}, nil
}

// summarise sets the fields that follow from the results, and reverses the results, which come
// oldest first.
func (b *participantPage) summarise(page string) {
	points := make([]chainview.Point, 0, len(b.Rounds))
	reputation, spent := map[uint64]*float64{}, map[uint64]*float64{}
	for _, f := range b.Rounds {
		points = append(points, f.Point)
		if f.Verdict.Reputation != nil {
			x := float64(*f.Verdict.Reputation) / params.One
			reputation[f.Round] = &x
		}
		if f.Epsilon != nil && *f.Epsilon > 0 {
			spent[f.Round] = f.Epsilon
		}
		b.Led += has([]uint32{f.Leader}, b.Who.Index)
		b.Failed += has(f.Passed, b.Who.Index)
	}
	b.Reputation = chartOf(page, "reputation", "Reputation", "", 1, points,
		func(p chainview.Point) *float64 { return reputation[p.Round] })
	b.Spent = chartOf(page, "epsilon", "Epsilon spent", spentUnit, b.Spend.Budget, points,
		func(p chainview.Point) *float64 { return spent[p.Round] })
	b.Incidents = chainview.Incidents(b.Offences, b.Rounds)
	slices.Reverse(b.Rounds)
	b.Spans = chainview.Spans(b.Rounds)
}

// resultRounds is the number of rounds on a participant's page. For the last askedTurns of them the
// explorer asks the node why the participant failed to lead.
const resultRounds, askedTurns = 100, 10

// results returns a participant's results in the last rounds of the running epoch, oldest first.
// The parameter ledger is the participant's ledger after the closed rounds. If whole is false, the
// results omit the spent privacy.
func (s *Server) results(ctx context.Context, people []app.Participant, closed params.RoundID, whole bool,
	index uint32, offences []app.Offence) ([]chainview.Result, error) {
	status, running, _, err := s.tail.now()
	if err != nil {
		return nil, err
	}
	points := s.tail.known()
	var out []chainview.Result
	var records []*app.Record
	first := closed.Round - min(closed.Round, resultRounds)
	before, err := s.before(ctx, params.RoundID{Epoch: closed.Epoch, Round: first}, people, offences)
	if err != nil {
		return nil, err
	}
	for t := first; t < closed.Round; t++ {
		record, err := s.source.record(ctx, params.RoundID{Epoch: closed.Epoch, Round: t})
		if err != nil {
			return nil, err
		}
		f := chainview.Result{Point: chainview.PointOf(record)}
		if p, ok := points[params.RoundID{Epoch: closed.Epoch, Round: t}]; ok {
			f.Point = p
		}
		for _, v := range chainview.Verdicts(record, people[index:index+1], before, &index) {
			f.Verdict = v
		}
		before = chainview.Reputations(record, offences)
		out, records = append(out, f), append(records, record)
	}
	if whole && status.Epsilon != nil {
		for i, epsilon := range chainview.SpentBy(running.Privacy, people[index:index+1], records) {
			out[i].Epsilon = epsilon
		}
	}
	s.tellResults(ctx, out, records, index)
	return slices.DeleteFunc(out, func(f chainview.Result) bool {
		return f.Verdict.Fate == "" || f.Verdict.Fate == chainview.NotYet
	}), nil
}

// before returns the reputations before a round, as far as they are known: those after the previous
// round, or at the start of a chain that is in its first epoch the initial one.
func (s *Server) before(ctx context.Context, at params.RoundID, people []app.Participant,
	offences []app.Offence) (map[uint32]int64, error) {
	if at.Round > 0 {
		record, err := s.source.record(ctx, params.RoundID{Epoch: at.Epoch, Round: at.Round - 1})
		if err != nil {
			return nil, err
		}
		return chainview.Reputations(record, offences), nil
	}
	status, running, _, err := s.tail.now()
	out := map[uint32]int64{}
	for _, p := range people {
		if status.Epoch == 0 && running.Reputation.Initial > 0 {
			out[p.Index] = running.Reputation.Initial
		}
	}
	return out, err
}

// tellResults adds to a participant's results what the node saw: its rejected gradients, and its
// last turns to lead.
func (s *Server) tellResults(ctx context.Context, results []chainview.Result, records []*app.Record, index uint32) {
	asked := 0
	for i := len(results) - 1; i >= 0; i-- {
		f := &results[i]
		if x := (chainview.Witness{Rejections: f.Rejections}); f.Verdict.Fate == chainview.Absent {
			x.Reject(&f.Verdict)
		}
		if f.Verdict.Passed && asked < askedTurns {
			f.Turn = s.seen(ctx, records[i]).Turn(index, records[i])
			f.Verdict.Why += " It was to lead, and " + f.Turn + "."
			asked++
		}
	}
}
