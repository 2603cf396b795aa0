package worker

import (
	"context"
	"errors"
)

// ErrConsent means that this home has not decided yet about training on its data in an epoch, or
// has rejected it. The worker then waits and contributes to no round.
var ErrConsent = errors.New("no consent")

// agrees returns ErrConsent if the home does not consent to the epoch of the task now.
func (w *worker) agrees() error {
	if w.Consent == nil {
		return nil
	}
	return w.Consent(*w.task)
}

// consented waits until the home consents to the epoch of the task. It returns errEpochOver if the
// epoch ends first.
func (w *worker) consented(ctx context.Context) error {
	for epoch, waited := w.task.Epoch, false; ; waited = true {
		if w.task.Finished || w.task.Epoch != epoch {
			return errEpochOver
		}
		err := w.agrees()
		if err == nil {
			if waited {
				w.Log("this home consents to the epoch: training", "epoch", epoch)
			}
			return nil
		}
		w.once(err.Error(), "epoch", epoch)
		if _, err := w.next(ctx, w.Retry); err != nil {
			return err
		}
	}
}
