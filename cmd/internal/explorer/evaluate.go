package explorer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/model"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/worker/trainer"
	"github.com/spdl/spdl/cmd/internal/chainview"
)

// Evaluator measures a model under a chain's parameters.
type Evaluator interface {
	Evaluate(ctx context.Context, p params.Params, x []float64) (model.Eval, error)
}

// perTick is the max number of models that the explorer measures between two pauses.
const perTick = 4

// trainerPause is the pause after a failure of the trainer.
const trainerPause = 10 * time.Second

// evaluating measures the models of closed rounds until ctx is done. It runs in a goroutine of its
// own, so that a slow trainer delays no page.
func (t *tail) evaluating(ctx context.Context, poll time.Duration) {
	if t.evaluator == nil {
		return
	}
	for pause := poll; ; {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		pause = poll
		for range perTick {
			if p, ok := t.unmeasured(); !ok {
				break
			} else if err := t.measure(ctx, p); err != nil {
				pause = trainerPause
				break
			}
		}
	}
}

// unmeasured returns the newest closed round of the running epoch without a measured model.
func (t *tail) unmeasured() (p chainview.Point, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.beyond != nil && *t.beyond == t.status.Epoch {
		return p, false
	}
	for i := len(t.points) - 1; i >= 0 && t.points[i].Epoch == t.status.Epoch; i-- {
		if !t.points[i].Measured {
			return t.points[i], true
		}
	}
	return p, false
}

// errLater reports a model that may be measured later.
var errLater = errors.New("the node did not give the model")

// measure measures the model after a round, and tells the readers. If the node no longer has the
// model, or if the model cannot be measured, the explorer does not try the round again. It returns
// an error if a later attempt may succeed.
func (t *tail) measure(ctx context.Context, p chainview.Point) error {
	measured, err := t.evaluate(ctx, params.RoundID{Epoch: p.Epoch, Round: p.Round})
	if ctx.Err() != nil {
		return ctx.Err()
	}
	later := errors.Is(err, errLater) || errors.Is(err, trainer.ErrTrainer)
	p.Measured = !later
	if err == nil {
		p.Accuracy, p.Loss, p.Examples = chainview.Finite(measured.Accuracy), chainview.Finite(measured.Loss), measured.Examples
	}
	t.note(p, err)
	if later {
		return err
	}
	return nil
}

// evaluate fetches the model after a round and measures it. It turns a panic into an error, as look
// does.
func (t *tail) evaluate(ctx context.Context, at params.RoundID) (e model.Eval, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	asking, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	state, err := t.source.model(asking, at)
	if err != nil && !absent(err) {
		return e, fmt.Errorf("%w: %w", errLater, err)
	}
	if err != nil {
		return e, err
	}
	x, err := app.DecodeParameters(state.Parameters)
	if err != nil {
		return e, err
	}
	t.mu.Lock()
	running := t.params
	t.mu.Unlock()
	if e, err = t.evaluator.Evaluate(ctx, running, x); err == nil {
		t.remember(at, e)
	}
	return e, err
}

// remember keeps a result unless that of a newer model is kept.
func (t *tail) remember(at params.RoundID, e model.Eval) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if last := t.measuredAt; t.newest == nil || at.Epoch > last.Epoch || at.Epoch == last.Epoch && at.Round >= last.Round {
		t.measuredAt, t.newest = at, &e
	}
}

// note records the result of measuring a round's model, and the reason if models are not measured.
func (t *tail) note(p chainview.Point, err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	i := slices.IndexFunc(t.points, func(q chainview.Point) bool { return q.Epoch == p.Epoch && q.Round == p.Round })
	if i < 0 {
		return
	}
	t.points[i].Accuracy, t.points[i].Loss, t.points[i].Examples = p.Accuracy, p.Loss, p.Examples
	t.points[i].Measured = p.Measured
	why := ""
	switch {
	case err == nil:
		t.scored = append(t.scored, event("measured", t.points[i].Brief(usualPeople))...) // the tail sends it after its next look
	case home.IsUnmeasurable(err):
		t.beyond, why = &p.Epoch, "the model is external, and the explorer has no trainer that measures it"
	case !absent(err):
		why = "the last attempt failed, as the explorer's log says"
	}
	if why != "" && why != t.unknown {
		t.log("models are not measured", "round", p.Round, "err", err)
	}
	t.unknown = why
}

// whyUnmeasured returns the reason why the explorer shows no accuracy.
func (t *tail) whyUnmeasured() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.evaluator == nil:
		return "the operator may start the explorer with evaluation"
	case t.unknown == "":
		return "no model has been measured yet"
	}
	return t.unknown
}
