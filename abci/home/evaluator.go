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
	trainer trainer.Config // Argv is empty if the home has no trainer

	mu      sync.Mutex
	params  params.Params
	builtIn *evaluate.Evaluator // the evaluator of a built-in model; nil before the first use
	program *trainer.Trainer    // the running trainer of an external model; nil before the first use
}

// EvaluatorOf returns an Evaluator with the data and the trainer of a home's worker.
func EvaluatorOf(c *config.Config, w WorkerConfig) *Evaluator {
	return &Evaluator{data: w.Data, trainer: TrainerOf(c, w, nil)}
}

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
	if !p.Model.Equal(e.params.Model) || p.Privacy.Clip != e.params.Privacy.Clip {
		e.close()
		e.params = p
	}
	if p.Model.Kind == params.ModelExternal && len(e.trainer.Argv) > 0 {
		return e.byTrainer(ctx, x)
	}
	if e.builtIn == nil {
		if p.Model.Kind == params.ModelExternal {
			return model.Eval{}, evaluate.ErrExternal
		}
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

func (e *Evaluator) byTrainer(ctx context.Context, x []float64) (model.Eval, error) {
	if e.program == nil {
		program, err := trainer.Start(ctx, e.trainer, e.params.Model, params.Privacy{Clip: e.params.Privacy.Clip})
		if err != nil {
			return model.Eval{}, err
		}
		e.program = program
	}
	measured, err := e.program.Evaluate(ctx, x)
	return model.Eval{Loss: measured.Loss, Accuracy: measured.Accuracy, Examples: measured.Examples}, err
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
