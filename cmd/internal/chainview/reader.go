package chainview

import (
	"cmp"
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
)

// A Reader reads a chain for one answer. It keeps the first error, after which it reads nothing and returns empty
// values, so that its user looks at Err once. What it returns is shared: callers must not change it.
type Reader struct {
	*Chain
	Ctx context.Context
	err error
}

// Reader begins an answer.
func (c *Chain) Reader(ctx context.Context) *Reader { return &Reader{Chain: c, Ctx: ctx} }

// Err returns the first error of the answer.
func (r *Reader) Err() error { return r.err }

// Fail keeps an error, unless there is one.
func (r *Reader) Fail(err error) { r.err = cmp.Or(r.err, err) }

// Ask queries the node once per look at the chain.
func Ask[T any](r *Reader, path string) (answer T) {
	if r.err == nil {
		answer, r.err = Try[T](r, path)
	}
	return answer
}

// Try is Ask for a value that the answer can do without.
func Try[T any](r *Reader, path string) (answer T, err error) {
	got, err := r.answers.Get(r.Ctx, r.Looks(), path, func() (any, error) {
		var fresh T
		return fresh, r.asker.Query(r.Ctx, path, &fresh)
	})
	if err != nil {
		return answer, err
	}
	answer, ok := got.(T)
	if !ok {
		return answer, fmt.Errorf("%s was asked for as %T, and as %T", path, got, answer)
	}
	return answer, nil
}

// fresh queries the node, whatever it answered before.
func fresh[T any](r *Reader, path string) (answer T) {
	if r.err == nil {
		r.err = r.asker.Query(r.Ctx, path, &answer)
	}
	return answer
}

// Record returns the record of a closed round.
func (r *Reader) Record(at params.RoundID) *app.Record {
	if known, ok := r.records.Cached(at); ok {
		return known
	}
	got := fresh[app.Record](r, "/round/"+at.String())
	if r.err == nil && (got.Epoch != at.Epoch || got.Round != at.Round) {
		r.err = fmt.Errorf("asked for round %v, the node answers %d/%d", at, got.Epoch, got.Round)
	}
	if r.err == nil {
		r.records.Put(at, &got)
	}
	return &got
}

// Model returns the model after a closed round.
func (r *Reader) Model(at params.RoundID) *query.ModelState {
	if known, ok := r.models.Cached(at); ok {
		return known
	}
	got := fresh[query.ModelState](r, "/model/"+at.String())
	if r.err == nil {
		r.models.Put(at, &got)
	}
	return &got
}

// Participants returns all participants, by number.
func (r *Reader) Participants() []app.Participant { return Ask[[]app.Participant](r, "/participants") }

// Offences returns the proven offences, the oldest first.
func (r *Reader) Offences() []app.Offence { return Ask[[]app.Offence](r, "/evidence") }

// Epochs returns the epochs, the running one last.
func (r *Reader) Epochs() []query.EpochState { return Ask[[]query.EpochState](r, "/epochs") }

// Ledger returns the participants, and the epoch with its number of closed rounds at that time. These are two queries,
// and a round may close between them, so Ledger tries three times; ok is false if all tries fail.
func (r *Reader) Ledger() (people []app.Participant, closed params.RoundID, ok bool) {
	for range 3 {
		before := fresh[query.Status](r, "/status")
		people = fresh[[]app.Participant](r, "/participants")
		after := fresh[query.Status](r, "/status")
		closed = params.RoundID{Epoch: after.Epoch, Round: after.Round}
		if before.Epoch == after.Epoch && before.Round == after.Round {
			return people, closed, r.err == nil
		}
	}
	return people, closed, false
}

// Course returns the course of the chain as of the last look.
func (r *Reader) Course() Course {
	course, err := r.Now()
	r.Fail(err)
	return course
}

// Standings returns the standings of all participants, by number.
func (r *Reader) Standings() []Standing {
	if r.err != nil {
		return nil
	}
	all, err := r.answers.Get(r.Ctx, r.Looks(), "standings", func() (any, error) {
		x := r.Reader(r.Ctx)
		course := x.Course()
		return Standings(x.Participants(), x.Offences(), course.Points, course.Status.Epoch), x.err
	})
	r.err = err
	out, _ := all.([]Standing)
	return out
}

// Leader returns who may close the open round, or nil if no round is open.
func (r *Reader) Leader() *query.Leader {
	if r.err != nil || r.Course().Status.Done {
		return nil
	}
	open, err := Try[query.Leader](r, "/leader")
	var refusal *client.Refusal
	if errors.As(err, &refusal) { // the training finished between the two queries
		return nil
	}
	r.Fail(err)
	return &open
}

// Rejections returns the gradients of a round that the node rejected, or for "" all that it remembers. A node of an
// earlier release does not know the query.
func (r *Reader) Rejections(of string) []query.Rejection {
	path := "/refusals"
	if of != "" {
		path += "/" + of
	}
	all, _ := Try[[]query.Rejection](r, path)
	return all
}

// Witness asks the node what it saw of a closed round.
func (r *Reader) Witness(at params.RoundID) Witness {
	course, _ := r.Now()
	attempts, err := Try[[]query.Attempt](r, "/attempts/"+at.String())
	return Witness{Election: course.Params.Election, Points: course.Points, Rejections: r.Rejections(at.String()),
		Attempts: attempts, Attended: err == nil}
}

// A Story is a closed round with the verdict on every participant.
type Story struct {
	Epoch    uint64    `json:"epoch"`
	Round    uint64    `json:"round"`
	Opened   uint64    `json:"opened"`
	Height   uint64    `json:"height"`
	Leader   uint32    `json:"leader"`
	View     uint32    `json:"view"`
	Ranking  []uint32  `json:"ranking"`
	Rule     string    `json:"rule"`
	Margin   *int64    `json:"margin"` // null if the rule selects no gradients
	Delta    string    `json:"delta_digest"`
	Model    string    `json:"model_hash"`
	Seed     string    `json:"seed"`
	Verdicts []Verdict `json:"verdicts"`
	Measures
}

// Story returns a closed round with its verdicts.
func (r *Reader) Story(at params.RoundID) *Story {
	record, verdicts := r.judge(at, r.Participants(), nil)
	if r.err != nil {
		return &Story{}
	}
	r.Witness(at).Tell(verdicts, record)
	now, _ := r.Now()
	p := now.Known()[at]
	return &Story{Epoch: record.Epoch, Round: record.Round, Opened: record.Opened, Height: record.Height,
		Leader: record.Leader, View: record.View, Ranking: append([]uint32{}, record.Ranking...), Rule: record.Rule,
		Margin: MarginOf(record), Delta: hex.EncodeToString(record.DeltaDigest),
		Model: hex.EncodeToString(record.ModelHash), Seed: hex.EncodeToString(record.Seed), Measures: p.Measures,
		Verdicts: verdicts}
}

// judge returns the record of a round and the verdicts on its participants, or on one of them. The reputations before
// the round are those after the previous one, or in the first round of a chain the initial ones.
func (r *Reader) judge(at params.RoundID, people []app.Participant, only *uint32) (*app.Record, []Verdict) {
	record, offences, before, since := r.Record(at), r.Offences(), map[uint32]int64{}, uint64(0)
	if at.Round > 0 {
		last := r.Record(params.RoundID{Epoch: at.Epoch, Round: at.Round - 1})
		before, since = Reputations(last, offences), last.Height
	} else if now := r.Course(); now.Status.Epoch == 0 && now.Params.Reputation.Initial > 0 {
		for _, p := range people {
			before[p.Index] = now.Params.Reputation.Initial
		}
	}
	verdicts := Verdicts(record, people, before, only)
	for i := range verdicts {
		verdicts[i].Convict(record, since, offences)
	}
	return record, verdicts
}

// resultRounds is the number of rounds in the results of a participant. For the last askedTurns of them the
// reader asks the node why the participant failed to lead.
const resultRounds, askedTurns = 100, 10

// Results returns a participant, and its results in the last rounds of the running epoch, oldest first. They omit
// the spent privacy if it is unknown.
func (r *Reader) Results(index uint64) (who app.Participant, out []Result) {
	people, closed, whole := r.Ledger()
	if r.err == nil && index >= uint64(len(people)) {
		r.err = fmt.Errorf("%w: participant %d of %d", ErrNotFound, index, len(people))
	}
	now := r.Course()
	points, records, only := now.Known(), []*app.Record{}, uint32(index)
	for t := closed.Round - min(closed.Round, resultRounds); t < closed.Round && r.err == nil; t++ {
		at := params.RoundID{Epoch: closed.Epoch, Round: t}
		record, verdicts := r.judge(at, people[index:index+1], &only)
		result := Result{Point: PointOf(record)}
		if p, known := points[at]; known {
			result.Point = p
		}
		for _, v := range verdicts {
			result.Verdict = v
		}
		out, records = append(out, result), append(records, record)
	}
	if r.err != nil {
		return who, nil
	}
	if whole && now.Status.Epsilon != nil {
		for i, epsilon := range SpentBy(now.Params.Privacy, people[index:index+1], records) {
			out[i].Epsilon = epsilon
		}
	}
	asked := 0
	for i := len(out) - 1; i >= 0; i-- {
		f := &out[i]
		if (Witness{Rejections: f.Rejections}).Reject(&f.Verdict); f.Verdict.Passed && asked < askedTurns {
			f.Turn = r.Witness(f.ID()).Turn(only, records[i])
			f.Verdict.Why += " It was to lead, and " + f.Turn + "."
			asked++
		}
	}
	return people[index], slices.DeleteFunc(out,
		func(f Result) bool { return f.Verdict.Fate == "" || f.Verdict.Fate == NotYet })
}
