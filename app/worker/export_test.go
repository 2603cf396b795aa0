package worker

import (
	"context"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/privacy"
)

// Open returns the trainer with which a worker begins a task's epoch.
func Open(ctx context.Context, c Config, t Task) (*Trainer, error) {
	w := &worker{Config: c, task: &t}
	w.Says = func(Step) {}
	if c.External != nil {
		return w.startExternal(ctx)
	}
	return w.builtInTrainer(ctx)
}

// Len returns how many examples a trainer has.
func (t *Trainer) Len() int { return t.units }

// Close ends a trainer's program.
func (t *Trainer) Close() { t.close() }

// Sum returns the sum that a round at x releases with noise, for a batch by these coins.
func (t *Trainer) Sum(ctx context.Context, coins privacy.UniformSource, x []float64) ([]float64, error) {
	t.source, t.batchRound = coins, nil
	_, err := t.compute(ctx, params.RoundID{}, x)
	return append([]float64(nil), t.sum...), err
}

// putGradient stores a signed gradient as a signer does.
func (j *Journal) putGradient(t *tx.Tx, after privacy.Snapshot, spent []uint64, counted uint64) error {
	r := &GradientRequest{Place: Place{Epoch: t.Gradient.Epoch, Round: t.Gradient.Round}, Spent: spent, Counted: counted}
	r.setMechanism(after)
	return j.add(r.addition(t, nil, j.Entry))
}

// OwnIntercept returns the participant's own intercept.
func (t *Trainer) OwnIntercept() float64 { return t.intercept.own }

// StepUnseen takes a step whose vector is not sent.
func (t *Trainer) StepUnseen(x []float64) error {
	undo := t.mark()
	t.Step(x)
	return undo()
}
