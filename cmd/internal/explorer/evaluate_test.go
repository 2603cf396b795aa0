package explorer

import (
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/model"
	"github.com/spdl/spdl/app/model/evaluate"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/worker/trainer"
)

// evaluator answers the same for all models.
type evaluator func(ctx context.Context) (model.Eval, error)

func (e evaluator) Evaluate(ctx context.Context, _ params.Params, _ []float64) (model.Eval, error) {
	return e(ctx)
}

// TestSlowEvaluator: while a trainer takes its time, the explorer looks at the chain and pages are
// answered; what it measured is shown, and told to readers, when it is there.
func TestSlowEvaluator(t *testing.T) {
	f := newFake(6, "x")
	asked, answer := make(chan struct{}, 10), make(chan struct{})
	s := New(f, f, Options{Poll: time.Millisecond, Evaluator: evaluator(func(ctx context.Context) (model.Eval, error) {
		asked <- struct{}{}
		select {
		case <-answer:
			return model.Eval{Accuracy: 0.625}, nil
		case <-ctx.Done():
			return model.Eval{}, ctx.Err()
		}
	})})
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { s.chain.Follow(ctx, s.options.Poll); close(done) }()
	defer func() { cancel(); <-done }()
	<-asked
	f.set(func() { f.rounds = 7 })
	require.Eventually(t, func() bool { return strings.Contains(get(s, "/v1/rounds").Body.String(), `"round":6`) },
		10*time.Second, time.Millisecond)
	home := get(s, "/")
	require.Equal(t, http.StatusOK, home.Code)
	require.Contains(t, home.Body.String(), "no model has been measured yet")
	events, end := s.chain.Subscribe()
	defer end()
	close(answer)
	require.Eventually(t, func() bool { return strings.Contains(string(<-events), "event: measured") }, 10*time.Second,
		time.Millisecond)
	require.Eventually(t, func() bool { return strings.Contains(get(s, "/").Body.String(), "62.50 %") }, 10*time.Second,
		time.Millisecond)
}

// TestUnmeasured: a model that is beyond the evaluator is asked for once an epoch, one whose
// trainer failed again; the page says why there is no accuracy.
func TestUnmeasured(t *testing.T) {
	for why, c := range map[string]struct {
		err   error
		again bool
	}{
		"has no trainer that measures it": {evaluate.ErrExternal, false},
		"the last attempt failed":         {fmt.Errorf("%w: it ended", trainer.ErrTrainer), true},
	} {
		s := New(newFake(6, "x"), newFake(6, "x"), Options{Evaluator: evaluator(func(context.Context) (model.Eval,
			error) {
			return model.Eval{}, c.err
		})})
		require.NoError(t, s.chain.Look(t.Context()))
		at, ok := s.chain.Unmeasured()
		require.True(t, ok)
		require.EqualValues(t, 5, at.Round)
		require.Equal(t, c.again, s.chain.Measure(t.Context(), at) != nil)
		_, ok = s.chain.Unmeasured()
		require.Equal(t, c.again, ok)
		require.Contains(t, get(s, "/").Body.String(), why)
	}
}
