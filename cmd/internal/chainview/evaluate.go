package chainview

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/model"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/worker/trainer"
	"github.com/spdl/spdl/internal/wait"
)

// perTick is the max number of models that the follower measures between two pauses, trainerPause the pause after a
// failure of the trainer, and modelTime the timeout of a query for a model.
const perTick, trainerPause, modelTime = 4, 10 * time.Second, 10 * time.Second

// evaluating measures the models of closed rounds until ctx is done. It runs in a goroutine of its
// own, so that a slow trainer delays no page.
func (c *Chain) evaluating(ctx context.Context, poll time.Duration) {
	if c.options.Evaluator == nil {
		return
	}
	for pause := poll; ; {
		if wait.For(ctx, pause) != nil {
			return
		}
		pause = poll
		for range perTick {
			if at, ok := c.Unmeasured(); !ok {
				break
			} else if c.Measure(ctx, at) != nil {
				pause = trainerPause
				break
			}
		}
	}
}

// Unmeasured returns the newest closed round of the running epoch without a measured model.
func (c *Chain) Unmeasured() (at params.RoundID, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	epoch, points := c.course.Status.Epoch, c.course.Points
	if c.beyond != nil && *c.beyond == epoch {
		return at, false
	}
	for i := len(points) - 1; i >= 0 && points[i].Epoch == epoch; i-- {
		if !points[i].Measured {
			return points[i].ID(), true
		}
	}
	return at, false
}

// errLater reports a model that may be measured later.
var errLater = errors.New("the node did not give the model")

// Measure measures the model after a round, and tells the readers. If the node no longer has the model, or if the model
// cannot be measured, the follower does not try the round again. It returns an error if a later attempt may succeed.
func (c *Chain) Measure(ctx context.Context, at params.RoundID) error {
	measured, err := c.evaluate(ctx, at)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	later := errors.Is(err, errLater) || errors.Is(err, trainer.ErrTrainer)
	c.note(at, measured, err, later)
	if later {
		return err
	}
	return nil
}

// evaluate fetches the model after a round and measures it. It turns a panic into an error, as Look does.
func (c *Chain) evaluate(ctx context.Context, at params.RoundID) (e model.Eval, err error) {
	defer query.Catch(&err)
	asking, cancel := context.WithTimeout(ctx, modelTime)
	defer cancel()
	r := c.Reader(asking)
	state := r.Model(at)
	switch {
	case r.err != nil && !Missing(r.err):
		return e, fmt.Errorf("%w: %w", errLater, r.err)
	case r.err != nil:
		return e, r.err
	}
	x, err := app.DecodeParameters(state.Parameters)
	if err != nil {
		return e, err
	}
	course, _ := c.Now()
	return c.options.Evaluator.Evaluate(ctx, course.Params, x)
}

// note records the result of measuring a round's model, and the reason if models are not measured. It keeps the
// newest result.
func (c *Chain) note(at params.RoundID, e model.Eval, err error, later bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	last := c.measuredAt
	if newer := at.Epoch > last.Epoch || at.Epoch == last.Epoch && at.Round >= last.Round; err == nil &&
		(newer || c.newest == nil) {
		c.measuredAt, c.newest = at, &e
	}
	i := slices.IndexFunc(c.course.Points, func(p Point) bool { return p.ID() == at })
	if i < 0 {
		return
	}
	p, why := &c.course.Points[i], ""
	p.Measured = !later
	switch {
	case err == nil:
		p.Measures = MeasuresOf(e, c.course.Params.Model)
		c.scored = append(c.scored, c.options.Encode("measured", *p)...) // the follower sends it after its next look
	case home.IsUnmeasurable(err):
		c.beyond, why = &at.Epoch, "the model is external, and the explorer has no trainer that measures it"
	case !Missing(err):
		why = "the last attempt failed, as the explorer's log says"
	}
	if why != "" && why != c.unknown {
		c.options.Log("models are not measured", "round", at.Round, "err", err)
	}
	c.unknown = why
}

// WhyUnmeasured returns the reason why there is no accuracy.
func (c *Chain) WhyUnmeasured() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.options.Evaluator == nil:
		return "the operator may start the explorer with evaluation"
	case c.unknown == "":
		return "no model has been measured yet"
	}
	return c.unknown
}

// Measured returns the newest measured result and its round, or nil if no model was measured.
func (c *Chain) Measured() (e *model.Eval, at params.RoundID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.newest, c.measuredAt
}
