package home

import (
	"context"
	"errors"
	"sync"

	"github.com/cometbft/cometbft/config"

	"github.com/spdl/spdl/app/model"
	"github.com/spdl/spdl/app/model/evaluate"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/worker/trainer"
)

// Evaluator measures a chain's models: built-in models on a test set, and external models with a
// trainer that it runs. It reads the test set, or starts the trainer, when it measures the first
// model. It is safe for concurrent use, and measures one model at a time.
type Evaluator struct {
	data    string
	trainer trainer.Config // Argv is empty if there is no trainer

	mu      sync.Mutex
	params  params.Params
	builtIn *evaluate.Evaluator // the evaluator of a built-in model; nil before the first use
	program *trainer.Trainer    // the running trainer of an external model; nil before the first use
}

// EvaluatorOf returns an Evaluator with the data and the trainer of a home's worker.
func EvaluatorOf(c *config.Config, w WorkerConfig) *Evaluator {
	return EvaluatorBy(TrainerOf(c, w, nil))
}

// EvaluatorBy returns an Evaluator with a trainer, and the trainer's data.
func EvaluatorBy(c trainer.Config) *Evaluator { return &Evaluator{data: c.Share.Data, trainer: c} }

// Own returns the path of the home's own data, "" if it has none or a share of a localnet's.
func (e *Evaluator) Own() string {
	if e.trainer.Share.Parts > 1 {
		return ""
	}
	return e.data
}

// IsUnmeasurable reports whether an error means that an Evaluator can never measure the models: the
// models are external, and the home has no trainer or a trainer that does not evaluate.
func IsUnmeasurable(err error) bool {
	return errors.Is(err, evaluate.ErrExternal) || errors.Is(err, trainer.ErrUnmeasured)
}

// Evaluate returns loss and accuracy of a model under a chain's parameters. Both the trainer's
// timeout and ctx bound the time of a trainer's answer. If the trainer fails, the error wraps
// trainer.ErrTrainer, and a later call may succeed.
func (e *Evaluator) Evaluate(ctx context.Context, p params.Params, x []float64) (model.Eval, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.of(p)
	if p.Model.Kind == params.ModelExternal {
		return e.byTrainer(ctx, x)
	}
	if e.builtIn == nil {
		test, err := LoadTest(e.data, p.Model)
		if err != nil {
			return model.Eval{}, err
		}
		if e.builtIn, err = evaluate.New(test, p.Model); err != nil {
			return model.Eval{}, err
		}
	}
	return e.builtIn.Evaluate(x)
}

// of makes the Evaluator one of the models under the parameters.
func (e *Evaluator) of(p params.Params) {
	if !p.Model.Equal(e.params.Model) || p.Privacy.Clip != e.params.Privacy.Clip {
		e.close()
		e.params = p
	}
}

// byTrainer measures by the probabilities that the trainer gives to its test rows, or else takes its own measurement.
func (e *Evaluator) byTrainer(ctx context.Context, x []float64) (out model.Eval, err error) {
	p, err := e.predict(ctx, x, false)
	if err == nil {
		if out, err = evaluate.OfProbabilities(p.Labels, p.Chance); out.Quality != nil && e.params.Privacy.Unit != "" {
			out.Quality.Error = 0 // the groups of test rows are not known
		}
		return out, err
	}
	if e.program == nil || !errors.Is(err, trainer.ErrUnmeasured) {
		return out, err
	}
	measured, err := e.program.Evaluate(ctx, x)
	return model.Eval{Loss: measured.Loss, Accuracy: measured.Accuracy, Examples: measured.Examples}, err
}

func (e *Evaluator) predict(ctx context.Context, x []float64, trained bool) (p trainer.Predicted, err error) {
	if len(e.trainer.Argv) == 0 {
		return p, evaluate.ErrExternal
	}
	if e.program == nil {
		privacy := params.Privacy{Clip: e.params.Privacy.Clip}
		if e.program, err = trainer.Start(ctx, e.trainer, e.params.Model, privacy); err != nil {
			return p, err
		}
	}
	return e.program.Predict(ctx, x, trained)
}

// Predict returns the probabilities that an external model gives to the rows of the home to train on, and to those to
// test on. Errors are those of Evaluate.
func (e *Evaluator) Predict(ctx context.Context, p params.Params, x []float64) (train, test trainer.Predicted,
	err error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !p.Model.Equal(e.params.Model) { // otherwise the trainer goes on, whatever it clips
		e.of(p)
	}
	if train, err = e.predict(ctx, x, true); err == nil {
		test, err = e.predict(ctx, x, false)
	}
	return train, test, err
}

// Close ends the trainer if it is running.
func (e *Evaluator) Close() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.close()
}

func (e *Evaluator) close() {
	if e.program != nil {
		e.program.Close()
	}
	e.builtIn, e.program = nil, nil
}
