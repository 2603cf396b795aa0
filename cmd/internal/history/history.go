// Package history computes the course of a chain's training: it replays the blocks, and measures the model of every
// round. Page and SideBySide show it as a report: one HTML file with figures.
package history

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/model/evaluate"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/audit"
	"github.com/spdl/spdl/cmd/internal/chainview"
)

// Chain is a chain's history.
type Chain struct {
	Audit  *audit.Report
	Rounds []Round
	State  *app.State        // after the last block
	Count  []chainview.Tally // by participant
	Params params.Params     // of the last epoch that closed a round

	// Unmeasured is the reason why external models were not measured, or "" if all models were.
	Unmeasured string
}

// Round is a closed round. A number is NaN if the round has none.
type Round struct {
	app.Record
	// At is the number of rounds that were closed by then, in all epochs.
	At float64
	// Time is the time of the round's block, and Took the seconds since the block of the previous round. Took is NaN for
	// the first round, because a chain's first block has the time of genesis, whenever its nodes started.
	Time time.Time
	Took float64
	// Accuracy and Loss are those of the round's model on the test set. They are NaN if the model was not measured, or if
	// the next epoch opened in the same block. Tested is the number of test examples.
	Accuracy, Loss float64
	Tested         int
	Measures       *evaluate.Measures // what stands beside Accuracy; nil if no counts by class are known
	Epsilon        float64            // the largest spend; NaN without a ledger
	Reputations    []float64          // by participant
}

// Most is the max number of rounds in a report: more would be hard to read, and slow to measure.
const Most = 400

// ErrEmpty means that a chain has closed no round.
var ErrEmpty = errors.New("no round is closed")

// Read replays a source, as an audit does, and measures models. If the chain has most rounds or more, Read keeps every
// second, fourth or eighth round, and so on, and always the last. The parameter most must be even.
func Read(ctx context.Context, src audit.Source, e chainview.Evaluator, most int,
	progress func(audit.Progress)) (*Chain, error) {
	c := new(Chain)
	var last Round // without the measured values
	var after *app.State
	closed, stride := 0, 1
	keep := func() error {
		err := c.measure(ctx, &last, after, e)
		c.Rounds = append(c.Rounds, last)
		return err
	}
	report, err := audit.Run(ctx, src, audit.Options{Progress: progress, Executed: func(b audit.Executed) error {
		at, out := b.Block.Time, b.Outcome
		c.State = out.State
		if out.Record == nil {
			return nil
		}
		c.add(out.Record)
		closed++
		took := math.NaN()
		if closed > 1 {
			took = at.Sub(last.Time).Seconds()
		}
		last = Round{Record: *out.Record, At: float64(closed), Time: at, Took: took}
		after = out.State
		c.Params = audit.ParamsOf(out.State, out.Record.Epoch)
		if closed%stride != 0 {
			return nil
		}
		err := keep()
		if len(c.Rounds) == most {
			for i := range most / 2 {
				c.Rounds[i] = c.Rounds[2*i+1]
			}
			c.Rounds, stride = c.Rounds[:most/2], 2*stride
		}
		return err
	}})
	if err == nil && closed%stride != 0 { // the last round is always kept
		err = keep()
	}
	switch {
	case err != nil:
		return nil, err
	case closed == 0:
		return nil, fmt.Errorf("%w: chain %s has closed no round in %d blocks", ErrEmpty, report.ChainID, report.Blocks)
	}
	c.Audit = report
	return c, nil
}

// add adds a round to the counts.
func (c *Chain) add(r *app.Record) {
	for len(c.Count) < len(c.State.Participants) {
		c.Count = append(c.Count, chainview.Tally{})
	}
	chainview.Add(c.Count, r, c.State.Participants)
}

// measure sets the remaining values of a round, from the state after its block, and measures its model.
func (c *Chain) measure(ctx context.Context, r *Round, s *app.State, e chainview.Evaluator) error {
	r.Accuracy, r.Loss, r.Epsilon = math.NaN(), math.NaN(), math.NaN()
	for i, p := range s.Participants {
		r.Reputations = append(r.Reputations, float64(p.Reputation)/params.One)
		if spend, err := query.SpendOf(s, &s.Participants[i]); err == nil && spend.Epsilon != nil {
			if !(*spend.Epsilon <= r.Epsilon) { // r.Epsilon is NaN at first
				r.Epsilon = *spend.Epsilon
			}
		}
	}
	hash := app.ModelHash(s.Model)
	if !bytes.Equal(hash[:], r.ModelHash) { // the next epoch opened with another model
		return nil
	}
	p := audit.ParamsOf(s, r.Epoch)
	if c.Unmeasured != "" {
		return nil
	}
	measured, err := e.Evaluate(ctx, p, s.Model)
	if err != nil && ctx.Err() == nil && p.Model.Kind == params.ModelExternal {
		c.Unmeasured = err.Error() // a trainer that failed or is slow is not called again
		return nil
	}
	if err != nil {
		return fmt.Errorf("epoch %d: %w", r.Epoch, err)
	}
	r.Accuracy, r.Loss, r.Tested = measured.Accuracy, measured.Loss, measured.Examples
	r.Measures = evaluate.Judge(measured, p.Model)
	return nil
}

// Beside returns the accuracy of guessing and the recall that Measures has, and of two classes AUC and Brier score;
// NaN for what is not known.
func (r Round) Beside() [4]float64 {
	out := [4]float64{math.NaN(), math.NaN(), math.NaN(), math.NaN()}
	if m := r.Measures; m != nil {
		if out[0], out[1] = m.Majority, m.Recall; m.Quality != nil {
			out[2], out[3] = m.Quality.AUC, m.Quality.Brier
		}
	}
	return out
}

// Weight returns how many gradients of full weight the selected ones weigh together, or NaN if the
// rule gives no weights.
func (r Round) Weight() float64 {
	if !query.Weighs(r.Rule) {
		return math.NaN()
	}
	sum := 0.0
	for _, x := range r.Contributions {
		sum += *query.WeightOf(&r.Record, x)
	}
	return sum
}

// Selected returns how many gradients entered the aggregate.
func (r Round) Selected() (n int) {
	for _, x := range r.Contributions {
		if x.Selected {
			n++
		}
	}
	return n
}
