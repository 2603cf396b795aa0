package top

import (
	"context"
	"errors"
	"sync"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/cmd/internal/cli/command"
	"github.com/spdl/spdl/cmd/internal/explorer"
)

// score is the accuracy of a model, or the reason for its absence.
type score struct {
	Accuracy *float64
	Examples int    // of the test set
	Round    uint64 // the round after which the chain had the model
	Why      string

	Guess float64 // the accuracy of guessing, 0 if it is unknown
	Poor  bool    // the accuracy is hardly better
}

// measurer measures the newest model in the background, one model at a time.
type measurer struct {
	client    *client.Client
	evaluator *home.Evaluator // nil: nothing is measured

	mu   sync.Mutex
	last score
	of   uint64        // height of the round that is being measured, or was measured last
	busy chan struct{} // closed when the measurement ends; nil if none runs
}

// see returns the last score. It starts a measurement of the newest model, unless that model has
// been measured or another measurement is running.
func (m *measurer) see(ctx context.Context, g *Glance) score {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.evaluator == nil:
		return score{Why: "--no-eval"}
	case g.Last == nil:
		return score{Why: "no round is closed"}
	}
	if m.busy == nil && g.Last.Height != m.of {
		busy := make(chan struct{})
		m.of, m.busy = g.Last.Height, busy
		go func() {
			defer close(busy)
			s := m.measure(ctx, *g.Last)
			m.mu.Lock()
			defer m.mu.Unlock()
			m.last, m.busy = s, nil
		}()
	}
	if m.last.Accuracy == nil && m.busy != nil {
		return score{Why: "being measured"}
	}
	return m.last
}

// await is see, but it waits for the running measurement, which ends after QueryTimeout at the
// latest.
func (m *measurer) await(ctx context.Context, g *Glance) score {
	ctx, cancel := context.WithTimeout(ctx, command.QueryTimeout)
	defer cancel()
	m.see(ctx, g)
	m.mu.Lock()
	busy := m.busy
	m.mu.Unlock()
	if busy != nil {
		<-busy
	}
	return m.see(ctx, g)
}

func (m *measurer) measure(ctx context.Context, r app.Record) score {
	s := score{Round: r.Round}
	fail := func(err error) score {
		s.Why = oneLine(err.Error(), 100)
		var refusal *client.Refusal
		switch {
		case home.IsUnmeasurable(err):
			s.Why += ": --trainer, or --home of a node that has one"
		case errors.As(err, &refusal):
			s.Why = "the node no longer has the model"
		}
		return s
	}
	asking, cancel := context.WithTimeout(ctx, command.QueryTimeout)
	defer cancel()
	p, err := m.client.Params(asking)
	if err != nil {
		return fail(err)
	}
	state, err := m.client.ModelOf(asking, r.Epoch, r.Round)
	if err != nil {
		return fail(err)
	}
	x, err := app.DecodeParameters(state.Parameters)
	if err != nil {
		return fail(err)
	}
	measured, err := m.evaluator.Evaluate(ctx, p, x)
	if err != nil {
		return fail(err)
	}
	s.Accuracy, s.Examples = &measured.Accuracy, measured.Examples
	s.Guess, s.Poor = explorer.Guessing(measured.Accuracy, p.Model.Classes)
	return s
}
