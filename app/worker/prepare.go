package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spdl/spdl/app/model"
	"github.com/spdl/spdl/app/params"
)

// trainer returns the trainer for the task's epoch, after the home has accepted the parameters
// (Policy) and consented (Consent).
func (w *worker) trainer(ctx context.Context) (*Trainer, error) {
	if err := w.Source.Permit(w.task.Params.TestChain); err != nil {
		return nil, err
	}
	if w.policyPrivacy = w.task.Params.Privacy; w.Policy != nil {
		var err error
		if w.policyPrivacy, err = w.Policy(*w.task); err != nil {
			return nil, err
		}
	}
	if own, name := w.record.Entry.Unit, w.task.Params.UnitName(); own != "" && own != name {
		return nil, fmt.Errorf("%w: the unit of privacy is %q, and this home's journal counts epsilon for %q", ErrPolicy,
			name, own)
	}
	if err := w.awaitConsent(ctx); err != nil {
		return nil, err
	}
	build := w.builtInTrainer
	if w.task.Params.Model.Kind == params.ModelExternal {
		build = w.startExternal
	}
	trainer, err := build(ctx)
	if err != nil {
		return nil, err
	}
	if fits, ok := w.task.Params.Privacy.Fits(trainer.units); !ok {
		w.Log("the chain's batch is for another number of examples: with more, a step takes longer and counts no more; "+
			"with fewer, it counts less",
			"examples", trainer.units, "batch_fits", fits)
	}
	if err := w.resume(trainer); err != nil {
		trainer.close()
		return nil, err
	}
	return trainer, nil
}

// builtInTrainer returns the trainer for a built-in model.
func (w *worker) builtInTrainer(ctx context.Context) (*Trainer, error) {
	data, err := w.Data(ctx, *w.task)
	if err != nil {
		return nil, fmt.Errorf("training data: %w", err)
	}
	trainer, err := NewTrainer(w.task.Params, data, w.Source)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrUnfit, err)
	}
	return trainer, nil
}

// errEpochOver means that an epoch ended before its trainer was ready.
var errEpochOver = errors.New("the epoch is over")

// startExternal starts the program for an external model and returns its trainer. It fails with
// errEpochOver if the epoch ends first; the caller may start the program again for the next epoch.
func (w *worker) startExternal(ctx context.Context) (*Trainer, error) {
	if w.External == nil {
		return nil, fmt.Errorf("%w: the chain's model is external, and this home names no trainer: set worker.trainer in "+
			"app.toml, or --trainer", ErrUnfit)
	}
	epoch := w.task.Epoch
	for pause := w.Retry; ; pause = min(2*pause, time.Minute) {
		w.says("starting the trainer", w.step.Fails)
		examples, err := w.External(ctx, *w.task)
		if err == nil {
			trainer, err := NewExternal(w.task.Params, examples, w.Source)
			if err != nil {
				return nil, fmt.Errorf("%w: %w", ErrUnfit, err)
			}
			return trainer, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		w.Log("the trainer has not started, it is tried again", "err", err, "after", pause)
		w.says("", true)
		for again := time.Now().Add(pause); time.Now().Before(again); {
			if err := w.awaitNext(ctx, time.Until(again)); err != nil {
				return nil, err
			}
			if w.task.Epoch != epoch || w.task.Finished {
				return nil, errEpochOver
			}
		}
	}
}

// resume sets the trainer's momentum to the momentum after the last signed gradient of the epoch.
func (w *worker) resume(trainer *Trainer) error {
	s, ok, err := w.record.snapshot(w.task.Epoch)
	if err == nil && ok {
		if err = trainer.mechanism.Restore(s); err != nil {
			err = damagedError(w.record.Path, err)
		}
	}
	// If the journal was lost, the chain counts more releases of the participant than the mechanism. Noise then replaces
	// the lost momentum, because validators reject a gradient whose norm is too small.
	if made := int(w.task.Participant.Releases); err == nil && trainer.mechanism.Releases() < made &&
		w.task.Params.Privacy.NoiseFloor && w.task.Params.Privacy.WorkerMomentum > 0 {
		trainer.mechanism.Resume(made)
		w.Log("momentum is lost, noise stands in for it", "releases", made)
	}
	return err
}

// compute computes the round's sum of clipped gradients, which stays in the trainer. With an
// external model compute fails with errNoGradient if the trainer fails, or if the round closes
// first: a signature on a late gradient would spend epsilon for nothing.
func (w *worker) compute(ctx context.Context, trainer *Trainer) (model.Stats, error) {
	at := params.RoundID{Epoch: w.task.Epoch, Round: w.task.Round}
	if !trainer.external {
		return trainer.compute(ctx, at, w.task.Model)
	}
	ask, cancel := context.WithCancel(ctx)
	defer cancel()
	moved := make(chan bool, 1)
	pub, task := w.public(), w.task
	go func() { moved <- w.awaitClose(ask, pub, task) }()
	stats, err := trainer.compute(ctx, at, w.task.Model)
	cancel()
	switch late := <-moved; {
	case ctx.Err() != nil:
		return stats, ctx.Err()
	case err != nil:
		return stats, fmt.Errorf("%w: %w", errNoGradient, err)
	case late:
		return stats, fmt.Errorf("%w: round %d closed while the trainer computed", errNoGradient, at.Round)
	}
	return stats, nil
}

// awaitClose returns true when the round of a task is closed, and false if ctx ends first. It repeats a failed call to
// the chain: a trainer may compute for minutes, and the chain may answer again in that time.
func (w *worker) awaitClose(ctx context.Context, pub []byte, task *Task) bool {
	for {
		now, err := w.chain.Await(ctx, pub, task)
		if err == nil && now.Epoch == task.Epoch && now.Round == task.Round { // only the phase of the round has changed
			task = now
			continue
		}
		// Await returns ErrNotParticipant only after the task's round or phase has ended.
		if err == nil || errors.Is(err, ErrNotParticipant) {
			return true
		}
		if w.pause(ctx) != nil {
			return false
		}
	}
}
