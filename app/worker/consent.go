package worker

import (
	"context"
	"errors"
)

// ErrConsent means that this home has not consented to a training on its data in an epoch: it has rejected the epoch,
// or has not decided yet. Until the home consents, the worker contributes to no round.
var ErrConsent = errors.New("no consent")

// checkConsent returns nil if the home consents to the epoch of the task, and ErrConsent if not.
func (w *worker) checkConsent() error {
	if w.Consent == nil {
		return nil
	}
	return w.Consent(*w.task)
}

// awaitConsent waits until the home consents to the epoch of the task. It returns errEpochOver if the epoch ends first.
func (w *worker) awaitConsent(ctx context.Context) error {
	for epoch, waited := w.task.Epoch, false; ; waited = true {
		if w.task.Finished || w.task.Epoch != epoch {
			return errEpochOver
		}
		err := w.checkConsent()
		if err == nil {
			if waited {
				w.Log("this home consents to the epoch: training", "epoch", epoch)
			}
			return nil
		}
		w.logOnce(err.Error(), "epoch", epoch)
		if err := w.awaitNext(ctx, w.Retry); err != nil {
			return err
		}
	}
}
