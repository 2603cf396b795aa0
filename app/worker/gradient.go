package worker

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spdl/spdl/app/model"
	"github.com/spdl/spdl/app/tx"
)

// Computed is the message that a worker logs for every gradient that it computed.
const Computed = "gradient computed"

// errNoGradient means that the external trainer failed or was too late, or that the signer did not sign.
var errNoGradient = errors.New("no gradient")

// errUnawaited means that the round closed without this participant's gradient.
var errUnawaited = errors.New("the round closed without this participant")

// delayResting waits up to four times Retry before the signature of a resting participant's
// gradient. It returns errUnawaited if the round closes in that time. Without this delay, the first
// gradient after each rest would be too late, and would spend epsilon for nothing.
// In phase Missed delayResting waits until the round takes commitments again.
func (w *worker) delayResting(ctx context.Context) error {
	at := w.roundID()
	if w.task.Phase == Missed {
		w.logOnce("the gradient came after the commitments of its round: nothing is signed, unless the round takes more "+
			"of them",
			"round", at.Round)
	}
	for waited := false; !waited || w.task.Phase == Missed; waited = true {
		if err := w.awaitNext(ctx, 4*w.Retry); err != nil {
			return err
		}
		if w.roundID() != at {
			return errUnawaited
		}
	}
	return nil
}

// present says that the participant is back from a rest, if that ends the rest sooner. The round after
// the open one then waits for its gradient. Until then it says so in each round, because a Present that
// comes later than the next round has no effect.
func (w *worker) present(ctx context.Context) error {
	end := w.task.Rest
	if end == nil || !w.task.MayPresent {
		return nil
	}
	w.logOnce("rounds do not wait for this participant, which was late: it says that it is back", "round", w.task.Round,
		"rounds", w.task.Params.Training.Rounds, "strikes", w.task.Participant.Strikes, "rest_ends", *end)
	t, err := w.signer.Present(ctx, w.task.ChainID, &tx.Present{Participant: w.task.Participant.Index,
		Epoch: w.task.Epoch, Round: w.task.Round, Nonce: w.task.Participant.Nonce + 1})
	if err == nil {
		err = w.chain.Submit(ctx, t)
	}
	if err != nil && !errors.Is(err, ErrRejected) { // the one of the round before is still on its way
		w.Log("present not delivered", "round", w.task.Round, "err", err)
	}
	return ctx.Err()
}

// refreshTask gets the current task after a computation. A gradient that is too late for its
// round's commit phase must not be signed, because the signature would spend epsilon for nothing.
// refreshTask returns errUnawaited if the round has closed.
func (w *worker) refreshTask(ctx context.Context) error {
	at := w.roundID()
	task, err := w.chain.Await(ctx, w.public(), nil)
	if err != nil { // the chain is unreachable; a later call will notice if the round has closed
		return ctx.Err()
	}
	if w.task = task; w.roundID() != at {
		return errUnawaited
	}
	return nil
}

// gradient returns the participant's only gradient for the round: the gradient in the journal or, if the journal has
// none, a new gradient, which the signer adds to the journal. It returns nil if the worker skips the round.
func (w *worker) gradient(ctx context.Context, trainer *Trainer) (*tx.Tx, error) {
	if w.isSkipped(w.task.Epoch, w.task.Round) {
		if !w.skipsUntilOverdue {
			return nil, nil
		}
		if err := w.awaitOverdue(ctx); err != nil {
			return nil, err
		}
	}
	if err := w.refresh(ctx, trainer); err != nil {
		return nil, err
	}
	t, err := w.record.gradient(w.task.Epoch, w.task.Round)
	if t == nil && err == nil {
		err = w.checkConsent()
	}
	if t != nil || err != nil {
		return t, err
	}
	privately := w.task.Params.Privacy
	spent := w.record.maxCosts(w.task.Participant.Spent)
	if privately.Participations(spent) == 0 {
		return nil, fmt.Errorf("%w: epsilon %g at delta %g pays for no gradient after the %d that the chain counts; this "+
			"worker sends no more",
			ErrBudget, privately.Epsilon, privately.Delta, w.task.Participant.Participations)
	}
	if w.policyPrivacy.Participations(spent) == 0 {
		return nil, fmt.Errorf("%w: this home's own, epsilon %g at delta %g, pays for no gradient after those that it has "+
			"signed; this worker sends no more",
			ErrBudget, w.policyPrivacy.Epsilon, w.policyPrivacy.Delta)
	}
	if err := w.present(ctx); err != nil {
		return nil, err
	}
	start := time.Now()
	w.says(computes, w.step.Fails)
	if err := sleep(ctx, w.StepDelay); err != nil {
		return nil, err
	}
	t, stats, err := w.makeGradient(ctx, trainer, spent)
	w.step.Took = time.Since(start)
	if err != nil {
		return nil, err
	}
	said := []any{"round", w.task.Round, "took", w.step.Took}
	if w.LogLoss && !trainer.external {
		said = append(said, "loss", stats.Loss)
	}
	w.Log(Computed, said...)
	return t, nil
}

// makeGradient waits until the worker may compute (acquireTurn), computes the round's gradient, and lets the signer
// sign it. costs has the participant's privacy cost in each column, without this gradient.
func (w *worker) makeGradient(ctx context.Context, trainer *Trainer, costs []uint64) (*tx.Tx, model.Stats, error) {
	if err := w.acquireTurn(ctx); err != nil {
		return nil, model.Stats{}, err
	}
	stats, err := w.compute(ctx, trainer)
	if err == nil && w.task.Params.Election.CommitReveal {
		err = w.refreshTask(ctx)
	}
	if err == nil && (w.task.Unawaited || w.task.Phase == Missed) { // others may compute during delayResting
		w.releaseTurn()
		if err := w.delayResting(ctx); err != nil {
			return nil, stats, err
		}
		if err := w.acquireTurn(ctx); err != nil {
			return nil, stats, err
		}
	}
	defer w.releaseTurn()
	if err == nil {
		err = w.checkConsent() // the home may have withdrawn its consent during the computation
	}
	if err != nil {
		return nil, stats, err
	}
	undo := trainer.mark()
	v := trainer.release()
	request := &GradientRequest{
		Place: Place{w.task.ChainID, w.task.Participant.Id, w.task.Epoch, w.task.Round}, Seed: w.task.Seed,
		Participant: w.task.Participant.Index, Payload: v.Encode(), Spent: w.policyPrivacy.Pay(costs),
		Unit: w.task.Params.UnitName(), Counted: w.task.Participant.Participations,
		CommitFirst: w.task.Params.Election.CommitReveal, Observed: w.task.Observed,
	}
	if w.task.Params.Privacy.WorkerMomentum > 0 { // without momentum the mechanism has no state
		request.setMechanism(trainer.mechanism.Snapshot())
	}
	t, err := w.signGradient(ctx, request)
	if errors.Is(err, errNoGradient) {
		err = errors.Join(err, undo())
	}
	return t, stats, err
}

// acquireTurn waits until the number of computing workers is below the limit that Turns sets.
// releaseTurn ends this worker's computation, so that another worker can start.
func (w *worker) acquireTurn(ctx context.Context) error {
	if w.Turns == nil {
		return nil
	}
	select {
	case w.Turns <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (w *worker) releaseTurn() {
	if w.Turns != nil {
		<-w.Turns
	}
}
