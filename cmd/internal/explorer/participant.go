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
)

// A result is the outcome of one round for one participant.
type result struct {
	Point
	Verdict Verdict
	Epsilon *float64
}

type participantPage struct {
	Who        app.Participant
	Standing   Standing
	Spend      query.Spend
	Offences   []app.Offence
	Rounds     []result
	Reputation spark
	Spent      spark
	Address    string
}

// participant shows one participant: its results in the last rounds, its spend and its offences.
func (s *Server) participant(r *http.Request) (content, error) {
	index, err := number("participant", r.PathValue("index"))
	if err != nil {
		return content{}, err
	}
	people, closed, whole, err := s.source.ledger(r.Context())
	if err != nil {
		return content{}, err
	}
	if index >= uint64(len(people)) {
		return content{}, fmt.Errorf("%w: participant %d of %d", errNotFound, index, len(people))
	}
	b := participantPage{Who: people[index]}
	all, err := s.standings(r.Context())
	if err != nil {
		return content{}, err
	}
	if index >= uint64(len(all)) { // the node switched to another chain between the queries
		return content{}, fmt.Errorf("%w: participant %d of %d", errNotFound, index, len(all))
	}
	b.Standing = all[index]
	if b.Spend, err = known[query.Spend](r.Context(), s.source, "/privacy/"+strconv.FormatUint(index, 10)); err != nil {
		return content{}, err
	}
	offences, err := known[[]app.Offence](r.Context(), s.source, "/evidence")
	if err != nil {
		return content{}, err
	}
	for _, o := range offences {
		if uint64(o.Participant) == index {
			b.Offences = append(b.Offences, o)
		}
	}
	if b.Rounds, err = s.results(r.Context(), people, closed, whole, uint32(index)); err != nil {
		return content{}, err
	}
	points := make([]Point, 0, len(b.Rounds))
	reputation := map[uint64]*float64{}
	spent := map[uint64]*float64{}
	for _, f := range b.Rounds {
		points = append(points, f.Point)
		if f.Verdict.Reputation != nil {
			x := float64(*f.Verdict.Reputation) / params.One
			reputation[f.Round] = &x
		}
		spent[f.Round] = f.Epsilon
	}
	b.Reputation = sparkOf("reputation", points, func(p Point) *float64 { return reputation[p.Round] })
	b.Spent = sparkOf("epsilon", points, func(p Point) *float64 { return spent[p.Round] })
	slices.Reverse(b.Rounds)
	return content{"participant", fmt.Sprintf("Participant %d", index), b}, nil
}

// resultRounds is the number of rounds on a participant's page.
const resultRounds = 100

// results returns a participant's results in the last rounds of the running epoch, oldest first.
// Ledger is the participant's ledger after the closed rounds; if whole is false, the results omit
// the spend.
func (s *Server) results(ctx context.Context, people []app.Participant, closed place, whole bool,
	index uint32) ([]result, error) {
	status, running, _, err := s.tail.now()
	if err != nil {
		return nil, err
	}
	var out []result
	var records []*app.Record
	var before map[uint32]int64
	for t := closed.round - min(closed.round, resultRounds); t < closed.round; t++ {
		record, err := s.source.record(ctx, place{closed.epoch, t})
		if err != nil {
			return nil, err
		}
		f := result{Point: pointOf(record)}
		for _, v := range verdicts(record, people[index:index+1], before, &index) {
			f.Verdict = v
		}
		before = map[uint32]int64{}
		for _, c := range record.Contributions {
			before[c.Participant] = c.Reputation
		}
		out, records = append(out, f), append(records, record)
	}
	if whole && status.Epsilon != nil {
		for i, epsilon := range spentBy(running.Privacy, people[index:index+1], records) {
			out[i].Epsilon = epsilon
		}
	}
	return slices.DeleteFunc(out, func(f result) bool {
		return f.Verdict.Fate == "" || f.Verdict.Fate == NotYet
	}), nil
}
