// Package history reports what a chain did: it replays the blocks, measures the model
// of every round, and makes the sections of a report.
package history

import (
	"bytes"
	"context"
	"fmt"
	"math"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/model"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/audit"
)

// Chain is a chain's history.
type Chain struct {
	Audit  *audit.Report
	rounds []round
	state  *app.State    // after the last block
	count  []tally       // by participant
	params params.Params // of the last epoch that closed a round

	// unmeasured is why external models were not measured, "" where all of them were.
	unmeasured string
}

// Evaluator measures a model under a chain's parameters.
type Evaluator interface {
	Evaluate(ctx context.Context, p params.Params, x []float64) (model.Eval, error)
}

// round is a closed round.
type round struct {
	app.Record
	at float64 // how many were closed by then, in all epochs
	// test error of its model; NaN if it was not measured, or the next epoch opened in the same
	// block
	wrong       float64
	epsilon     float64   // the largest spend; NaN without a ledger
	reputations []float64 // by participant
}

// tally counts what a participant did in all rounds.
type tally struct{ included, selected, opposed, led int }

// most bounds the number of rounds in a report, so that it can be read, and measured while
// one waits. Of a longer chain it holds every second, fourth or eighth round, and so on,
// and the last.
const most = 400

// Read replays a source, as an audit does, and measures models.
func Read(ctx context.Context, src audit.Source, e Evaluator, progress func(audit.Progress)) (*Chain, error) {
	return read(ctx, src, e, progress, most)
}

// read is Read with another bound on the rounds, for tests.
func read(ctx context.Context, src audit.Source, e Evaluator, progress func(audit.Progress), most int) (*Chain, error) {
	c := new(Chain)
	var failed error
	var last *app.Outcome // that closed a round
	closed, stride := 0, 1
	keep := func() {
		var r round
		r, failed = c.measure(ctx, last, e)
		r.at = float64(closed)
		c.rounds = append(c.rounds, r)
	}
	report, err := audit.Run(ctx, src, audit.Options{Progress: progress, Executed: func(b audit.Executed) {
		out := b.Outcome
		c.state = out.State
		if out.Record == nil {
			return
		}
		c.add(out.Record)
		last = out
		if closed++; closed%stride != 0 || failed != nil {
			return
		}
		if keep(); len(c.rounds) == most {
			for i := range most / 2 {
				c.rounds[i] = c.rounds[2*i+1]
			}
			c.rounds, stride = c.rounds[:most/2], 2*stride
		}
	}})
	if err == nil && failed == nil && closed%stride != 0 { // the last round is never left out
		keep()
	}
	switch {
	case err != nil:
		return nil, err
	case failed != nil:
		return nil, failed
	case closed == 0:
		return nil, fmt.Errorf("chain %s has closed no round in %d blocks", report.ChainID, report.Blocks)
	}
	c.Audit = report
	return c, nil
}

// add counts a round in.
func (c *Chain) add(r *app.Record) {
	for len(c.count) < len(c.state.Participants) {
		c.count = append(c.count, tally{})
	}
	c.count[r.Leader].led++
	for _, x := range r.Contributions {
		t := &c.count[x.Participant]
		t.included++
		if x.Selected {
			t.selected++
		}
		if x.Opposed {
			t.opposed++
		}
	}
}

// measure looks at the state that a round left.
func (c *Chain) measure(ctx context.Context, out *app.Outcome, e Evaluator) (round, error) {
	s := out.State
	r := round{Record: *out.Record, wrong: math.NaN(), epsilon: math.NaN()}
	for _, p := range s.Participants {
		r.reputations = append(r.reputations, float64(p.Reputation)/params.One)
	}
	if epsilon := query.GreatestSpend(s); epsilon != nil {
		r.epsilon = *epsilon
	}
	c.params = paramsOf(s, r.Epoch)
	if hash := app.ModelHash(s.Model); !bytes.Equal(hash[:], r.ModelHash) {
		return r, nil
	}
	if c.unmeasured != "" {
		return r, nil
	}
	measured, err := e.Evaluate(ctx, c.params, s.Model)
	if err != nil && ctx.Err() == nil && c.params.Model.Kind == params.ModelExternal {
		c.unmeasured = err.Error() // a trainer that failed, or is slow, is not waited for again
		return r, nil
	}
	if err != nil {
		return r, fmt.Errorf("epoch %d: %w", r.Epoch, err)
	}
	r.wrong = 1 - measured.Accuracy
	return r, nil
}

// paramsOf returns the parameters of an epoch, which the block may have ended.
func paramsOf(s *app.State, epoch uint64) params.Params {
	for _, e := range s.Epochs {
		if e.Epoch == epoch {
			return e.Params
		}
	}
	return s.Params
}

// selected returns how many gradients entered the aggregate.
func (r round) selected() (n int) {
	for _, x := range r.Contributions {
		if x.Selected {
			n++
		}
	}
	return n
}
