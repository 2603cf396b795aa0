package worker

import (
	"cmp"
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/privacy"
)

// worker is a running worker. One loop sends gradients, another loop sends aggregates; both use the signer.
type worker struct {
	Config
	chain         Chain
	task          *Task
	step          Step           // what Says was told last
	lastLog       string         // the last message of logOnce
	policyPrivacy params.Privacy // the privacy parameters that Policy returned for the epoch

	signer  Signer
	record  *Record // the worker's copy of the journal's record
	isStale bool    // whether the signer may have signed a gradient that record does not have

	mu sync.Mutex // guards the fields below
	// skipped is the round that the worker skips, or nil. Only the round that was open when the worker started can be
	// skipped (skipOpenRound). With skipsUntilOverdue the worker takes part once that round is overdue.
	skipped           *params.RoundID
	skipsUntilOverdue bool
	keys              PublicKeys
}

// Run follows the chain until the epoch's training is finished or ctx is done; with Follow it also trains in the later
// epochs. It retries every failed call to the chain, so Run does not end if the chain is unreachable.
func Run(ctx context.Context, chain Chain, c Config) error {
	c.Retry = cmp.Or(max(c.Retry, 0), 500*time.Millisecond)
	if c.Says == nil {
		c.Says = func(Step) {}
	}
	if c.Log == nil {
		c.Log = func(string, ...any) {}
	}
	switch {
	case c.Source == nil && c.TestSeed != 0:
		c.Source = privacy.NewTestSource(c.TestSeed)
	case c.Source == nil:
		c.Source = privacy.NewSecureSource()
	}
	if c.Signer == nil {
		c.Signer = NewLocal(c.Keys, c.Reload, c.Journal)
	}
	w := &worker{Config: c, chain: chain, signer: c.Signer}
	if err := w.begin(ctx); err != nil {
		return err
	}
	defer func() { _ = w.signer.Close() }() // every entry is already on the disk
	w.skipOpenRound()
	ctx, cancel := context.WithCancelCause(ctx)
	var err error
	var wg sync.WaitGroup
	chainID, index := w.task.ChainID, w.task.Participant.Index // follow changes the task
	wg.Go(func() { cancel(w.lead(ctx, chainID, index)) })
	err = w.follow(ctx)
	if err != nil && errors.Is(err, context.Canceled) {
		err = context.Cause(ctx)
	}
	cancel(nil)
	wg.Wait()
	return err
}

// skipOpenRound makes the worker skip the open round if the journal does not cover that round. The worker may have
// signed a gradient for the round before it restarted, and a second gradient would be evidence against the participant.
// The chain counts a gradient only when its round closes, so the chain's count does not decide the question.
//
//   - A new home has a journal from the start (NewJournal), so the worker does not skip the
//     participant's first round.
//   - If many workers restart, the round may need their gradients. So a worker whose journal has
//     all counted gradients, but no gradient for the round, skips the round only until the round is
//     overdue.
//   - A worker whose journal is known to lack entries skips the whole round.
func (w *worker) skipOpenRound() {
	lost := w.record.mayLackGradients(w.task.Participant.Participations)
	if w.task.Finished || !lost && w.record.isCertain(w.task.Epoch, w.task.Round) {
		return
	}
	w.skipped, w.skipsUntilOverdue = &params.RoundID{Epoch: w.task.Epoch, Round: w.task.Round}, !lost
	if !lost {
		w.Log("the journal has no gradient for the round that is open at the start: this worker sits it out, unless it "+
			"becomes overdue", "epoch", w.task.Epoch, "round", w.task.Round)
		return
	}
	w.Log("no journal, or one that is older than the chain or ends within an entry: this worker sits the open round "+
		"out, for which it may have signed a gradient; if it has certainly signed none, stop it, write {} into the "+
		"journal's file and start it again",
		"epoch", w.task.Epoch, "round", w.task.Round, "journal", w.record.Path, "signed", w.record.Entry.Signed,
		"participations", w.task.Participant.Participations)
}

// isSkipped reports whether the worker skips the given round.
func (w *worker) isSkipped(epoch, round uint64) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.skipped != nil && *w.skipped == params.RoundID{Epoch: epoch, Round: round}
}

// awaitOverdue waits until the skipped round is overdue, and ends the skip. It returns errUnawaited
// if the round closes first.
func (w *worker) awaitOverdue(ctx context.Context) error {
	for at := w.roundID(); !w.task.Overdue; {
		if err := w.awaitNext(ctx, 4*w.Retry); err != nil {
			return err
		}
		if err := w.refreshTask(ctx); err != nil {
			return err
		}
		if w.roundID() != at {
			return errUnawaited
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.skipped = nil
	w.Log("the round is overdue: this worker takes part in it", "round", w.task.Round)
	return nil
}

// await waits for the next open round or phase. It also waits while the chain is unreachable, or
// does not know the participant yet.
func (w *worker) await(ctx context.Context) error {
	for {
		task, err := w.chain.Await(ctx, w.public(), w.task)
		if err == nil {
			w.task, w.lastLog = task, ""
			w.reloadIfRotated(ctx)
			return nil
		}
		w.logWait(ctx, err)
		if err := w.pause(ctx); err != nil {
			return err
		}
	}
}

func (w *worker) public() ed25519.PublicKey {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.keys.Signing
}

// logOnce logs a text, unless it is the last text that logOnce logged.
func (w *worker) logOnce(text string, keyvals ...any) {
	if text != w.lastLog {
		w.lastLog = text
		w.Log(text, keyvals...)
	}
}

// logWait logs err, with logOnce, as the reason why the worker waits. If the chain does not know
// the keys, logWait also reloads the keys.
func (w *worker) logWait(ctx context.Context, err error) {
	if errors.Is(err, context.Canceled) { // the worker ends
		return
	}
	if !errors.Is(err, ErrNotParticipant) {
		w.logOnce("waiting for the chain: " + err.Error())
		return
	}
	switch {
	case errors.Is(err, errRotated):
		w.logOnce("waiting for new keys: a rotation of this home's keys is in force, and spdl tx rotate puts them in place " +
			"in a moment; if it was interrupted, run it again; restore a backup of the new keys, or if there is none, ask " +
			"the members for spdl tx remove and join with a new home: " + err.Error())
	case errors.Is(err, errLeft):
		w.logOnce("waiting for membership: " + err.Error() + "; to take part again, join with the keys of a new home")
	default:
		w.logOnce("waiting for membership: " + err.Error() + "; spdl tx join asks for it, and the members approve")
	}
	w.reload(ctx)
}

// reloadIfRotated reloads the keys if the chain has another VRF key for the participant than the worker.
func (w *worker) reloadIfRotated(ctx context.Context) {
	w.mu.Lock()
	known := w.keys.VRF.Equal(ed25519.PublicKey(w.task.Participant.VrfKey))
	w.mu.Unlock()
	if !known {
		w.reload(ctx)
	}
}

func (w *worker) reload(ctx context.Context) {
	keys, err := w.signer.Keys(ctx, true)
	if err != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !keys.Signing.Equal(w.keys.Signing) || !keys.VRF.Equal(w.keys.VRF) {
		w.keys = keys
		w.Log("new keys", "pub_key", fmt.Sprintf("%X", []byte(keys.Signing)))
	}
}

func (w *worker) pause(ctx context.Context) error { return sleep(ctx, w.Retry) }

// sleep returns after d, or with the context's error if the context ends first.
func sleep(ctx context.Context, d time.Duration) error {
	pause, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	<-pause.Done()
	return ctx.Err()
}

// says tells the node what the worker begins, "" for waiting, and whether its last attempt gave no gradient.
func (w *worker) says(does string, fails bool) {
	w.step.Does, w.step.Since, w.step.Round, w.step.Fails = does, time.Now(), w.task.Round, fails
	w.Says(w.step)
}

// follow trains in the task's epoch, and with Follow in every later epoch.
func (w *worker) follow(ctx context.Context) error {
	for {
		epoch := w.task.Epoch
		err := w.train(ctx)
		if w.Follow && (errors.Is(err, ErrUnfit) && w.task.Epoch > 0 || errors.Is(err, ErrPolicy)) {
			// The other members accepted parameters that do not suit this home. The worker skips
			// the epoch, and the node goes on.
			w.Log(err.Error(), "epoch", w.task.Epoch)
			epoch, err = w.task.Epoch, nil
		}
		if err != nil || !w.Follow {
			return err
		}
		for w.task.Epoch == epoch {
			if err := w.await(ctx); err != nil {
				return err
			}
		}
	}
}

// train takes a training step in each round until the epoch ends.
func (w *worker) train(ctx context.Context) error {
	if w.task.Finished {
		return nil
	}
	epoch := w.task.Epoch
	trainer, err := w.trainer(ctx)
	if errors.Is(err, errEpochOver) {
		return w.train(ctx)
	}
	if err != nil {
		return err
	}
	done, err := w.trainRounds(ctx, trainer, epoch)
	trainer.close()
	if errors.Is(err, ErrConsent) { // after a withdrawal the worker releases the data and waits
		return w.train(ctx)
	}
	if done || err != nil {
		return err
	}
	if w.task.Epoch == epoch {
		w.Log("training is finished", "epoch", epoch, "rounds", w.task.Round)
		return nil
	}
	w.Log("a new epoch has begun", "epoch", w.task.Epoch)
	return w.train(ctx)
}

// trainRounds takes a training step in each open round of an epoch. isSpent is true if the
// participant's budget is spent and the worker does not follow later epochs.
func (w *worker) trainRounds(ctx context.Context, trainer *Trainer, epoch uint64) (isSpent bool, err error) {
	for !w.task.Finished && w.task.Epoch == epoch {
		t, err := w.gradient(ctx, trainer)
		w.says("", errors.Is(err, errNoGradient))
		switch {
		case errors.Is(err, errNoGradient):
			w.logOnce("no gradient, nothing signed and nothing spent: " + err.Error())
			if err := w.awaitNext(ctx, w.Retry); err != nil {
				return false, err
			}
			continue
		case errors.Is(err, errUnawaited):
			continue
		case errors.Is(err, ErrBudget):
			if !w.Follow {
				w.Log(err.Error())
				return true, nil
			}
			w.logOnce(err.Error())
		case errors.Is(err, ErrJournal): // the node is catching up
			w.logWait(ctx, err)
			if err := w.pause(ctx); err != nil {
				return false, err
			}
		case err != nil:
			return false, err
		}
		if err := w.deliver(ctx, t); err != nil {
			return false, err
		}
	}
	return false, nil
}

// deliver sends the gradient, or in the commit phase the commitment to the gradient, repeatedly until the next round
// opens. After a rejection, and in phase Missed, deliver only waits for the next round.
func (w *worker) deliver(ctx context.Context, t *tx.Tx) error {
	for at := w.roundID(); w.roundID() == at; {
		if t != nil && w.task.Phase != Missed {
			refused, err := w.send(ctx, t)
			if err != nil {
				return err
			}
			if refused {
				t = nil
			}
		}
		if err := w.awaitNext(ctx, 4*w.Retry); err != nil {
			return err
		}
	}
	return nil
}

// send sends the round's gradient, or in the commit phase the commitment to that gradient. refused
// is true if the chain rejects the transaction.
func (w *worker) send(ctx context.Context, t *tx.Tx) (refused bool, err error) {
	if f, ok := w.chain.(Forger); ok {
		if t, err = f.Forge(ctx, t); err != nil || t == nil {
			w.Log("gradient not forged", "round", w.task.Round, "err", err)
			return false, ctx.Err()
		}
	}
	if w.task.Phase == Commit {
		t, err = w.signCommitment(ctx, t)
		if errors.Is(err, ErrSigner) || errors.Is(err, ErrRate) {
			w.logOnce("commitment not delivered: " + err.Error())
			return false, ctx.Err()
		}
		if err != nil {
			return false, err
		}
	}
	err = w.chain.Submit(ctx, t)
	if refused = errors.Is(err, ErrRejected); refused {
		w.Log(t.Kind().String()+" rejected", "round", w.task.Round, "err", err)
	} else if err != nil {
		w.Log(t.Kind().String()+" not delivered", "round", w.task.Round, "err", err)
	}
	return refused, nil
}

// roundID returns the round of the task.
func (w *worker) roundID() params.RoundID {
	return params.RoundID{Epoch: w.task.Epoch, Round: w.task.Round}
}

// awaitNext waits up to d for the next round or phase, which is in w.task if it has begun.
func (w *worker) awaitNext(ctx context.Context, d time.Duration) error {
	wait, cancel := context.WithTimeout(ctx, d)
	task, err := w.chain.Await(wait, w.public(), w.task)
	cancel()
	switch {
	case err == nil:
		w.task = task
		w.reloadIfRotated(ctx)
		return nil
	case ctx.Err() != nil:
		return ctx.Err()
	case errors.Is(err, context.DeadlineExceeded):
		return nil
	}
	w.logWait(ctx, err)
	return w.pause(ctx)
}
