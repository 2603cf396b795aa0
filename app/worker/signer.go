package worker

import (
	"context"
	"crypto/ed25519"
	"errors"
	"fmt"
	"math"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/leader"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/privacy"
)

// These constants bound, in bytes, a gradient's payload (two bytes a coordinate), a momentum (8 bytes a parameter), an
// aggregate (Delta, and an index and a hash for each participant), and the name of a unit of privacy.
const (
	maxPayload   = 2 * gradients.MaxDim
	maxMomentum  = 8 * gradients.MaxDim
	maxAggregate = 8*gradients.MaxDim + 48*gradients.MaxParticipants + 512
	maxUnit      = 256 // a column's name has at most 128
)

// Signer holds a participant's keys, and the journal of the gradients and aggregates that it has signed. For a round it
// signs one gradient, the commitment to that gradient, and one aggregate for each view. A second request with the same
// gradient gets the same signature; a request with another gradient gets ErrSigned. A second request for the aggregate
// of a view gets the first aggregate. Local is a Signer in this process. signer.Client asks a signer in another
// process, and fails with ErrSigner while that signer does not answer.
type Signer interface {
	// Keys returns the public keys. With reload, the signer first reads the key file, which a rotation may have changed.
	Keys(ctx context.Context, reload bool) (PublicKeys, error)
	// Open opens the journal for the participant with the given id on the given chain, and returns
	// the journal's record. If that journal is open already, Open only returns its record.
	Open(ctx context.Context, chainID string, id []byte) (*Record, error)
	// Gradient signs the gradient of a round.
	Gradient(ctx context.Context, r *GradientRequest) (*tx.Tx, error)
	// Commit signs the commitment to the round's signed gradient, with the VRF proof of that gradient's request.
	Commit(ctx context.Context, chainID string, c *tx.Commit) (*tx.Tx, error)
	// Present signs the message that ends the participant's rest.
	Present(ctx context.Context, chainID string, p *tx.Present) (*tx.Tx, error)
	// Aggregate signs the aggregate for a view of a round.
	Aggregate(ctx context.Context, chainID string, a *tx.Aggregate) (*tx.Tx, error)
	Close() error
}

// PublicKeys holds the public part of a Keys value.
type PublicKeys struct {
	Signing ed25519.PublicKey `json:"signing"`
	VRF     ed25519.PublicKey `json:"vrf"`
}

// Place names a round of a chain, and the participant whose signature a request asks for.
type Place struct {
	ChainID string `json:"chain_id"`
	ID      []byte `json:"participant_id"`
	Epoch   uint64 `json:"epoch"`
	Round   uint64 `json:"round"`
}

// GradientRequest asks for the signature of a gradient. The signer itself makes the VRF proof, so
// that it reveals only one proof for each round, in the signed gradient or in its commitment.
type GradientRequest struct {
	Place
	Seed        []byte `json:"seed"` // the seed in the input of the VRF proof
	Participant uint32 `json:"participant"`
	Payload     []byte `json:"payload"`
	CommitFirst bool   `json:"commit_first,omitempty"` // whether the commitment has the VRF proof, and the gradient none
	Observed
	Mechanism *mechanism `json:"mechanism,omitempty"` // the mechanism's state after this gradient; nil without momentum
	Spent     []uint64   `json:"spent"`               // the total privacy cost in each column, with this gradient
	Unit      string     `json:"unit"`                // the unit of privacy for which Spent counts
	Counted   uint64     `json:"counted"`             // the number of its gradients that the chain has counted
}

// check rejects a request whose payload, momentum or ledger is larger than any model needs. With a
// larger entry, a later worker could not read the journal.
func (r *GradientRequest) check() error {
	momentum := 0
	if r.Mechanism != nil {
		momentum = len(r.Mechanism.Momentum)
	}
	switch {
	case len(r.Payload) > maxPayload:
		return fmt.Errorf("%w: a payload of %d bytes, want at most %d", ErrSigned, len(r.Payload), maxPayload)
	case momentum > maxMomentum:
		return fmt.Errorf("%w: a momentum of %d bytes, want at most %d", ErrSigned, momentum, maxMomentum)
	case max(len(r.Late), len(r.Failed)) > app.MaxObserved:
		return fmt.Errorf("%w: %d late and %d failed participants, want at most %d", ErrSigned, len(r.Late), len(r.Failed),
			app.MaxObserved)
	case len(r.Spent) > params.LedgerColumns:
		return fmt.Errorf("%w: a ledger of %d columns, want at most %d", ErrSigned, len(r.Spent), params.LedgerColumns)
	case len(r.Unit) > maxUnit:
		return fmt.Errorf("%w: a unit of %d bytes, want at most %d", ErrSigned, len(r.Unit), maxUnit)
	case r.Counted > math.MaxInt64:
		return fmt.Errorf("%w: %d gradients counted, want at most %d", ErrSigned, r.Counted, math.MaxInt64)
	}
	return nil
}

func (r *GradientRequest) setMechanism(s privacy.Snapshot) {
	r.Mechanism = &mechanism{app.EncodeParameters(s.Momentum), s.Releases, s.NoiseVariance}
}

// input returns the input of the round's VRF proof.
func (r *GradientRequest) input() []byte { return leader.Input(r.ChainID, r.Epoch, r.Round, r.Seed) }

// addition returns the addition to the journal for the signed gradient t, with the VRF proof for its
// commitment. previous is the journal's entry so far.
func (r *GradientRequest) addition(t *tx.Tx, vrfProof []byte, previous entry) entry {
	kept := r.Mechanism
	if kept == nil {
		kept = &mechanism{Momentum: app.EncodeParameters(nil)}
	}
	return entry{
		Spent: r.Spent, Unit: r.Unit, Signed: max(previous.Signed, r.Counted) + 1,
		Gradient:  &signedTx{Epoch: r.Epoch, Round: r.Round, Raw: t.Raw, VRFProof: vrfProof},
		Mechanism: kept,
	}
}

// begin gets the public keys, waits for the first task, and opens the journal. It retries while the
// signer does not answer.
func (w *worker) begin(ctx context.Context) error {
	err := w.ask(ctx, func() (err error) {
		keys, err := w.signer.Keys(ctx, false)
		if err == nil {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.keys = keys
		}
		return err
	})
	if err != nil {
		return err
	}
	if err := w.await(ctx); err != nil {
		return err
	}
	return w.ask(ctx, func() (err error) {
		w.record, err = w.signer.Open(ctx, w.task.ChainID, w.task.Participant.Id)
		return err
	})
}

// ask repeats f while f fails with ErrSigner, and returns f's result.
func (w *worker) ask(ctx context.Context, f func() error) error {
	for {
		err := f()
		if !errors.Is(err, ErrSigner) {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		w.logOnce("waiting for the signer: " + err.Error())
		if err := w.pause(ctx); err != nil {
			return err
		}
	}
}

// refresh asks the signer for its record if an earlier request got no answer, so that the worker computes no second
// gradient for a round. It fails with errNoGradient while the signer does not answer.
func (w *worker) refresh(ctx context.Context, trainer *Trainer) error {
	if !w.isStale {
		if _, err := w.signer.Keys(ctx, false); err == nil || !errors.Is(err, ErrSigner) {
			return nil
		}
	}
	record, err := w.signer.Open(ctx, w.task.ChainID, w.task.Participant.Id)
	if errors.Is(err, ErrSigner) {
		w.isStale = true
		return fmt.Errorf("%w: %w", errNoGradient, err)
	}
	if err != nil {
		return err
	}
	w.record, w.isStale = record, false
	w.Log("the signer answers again", "signed", record.Entry.Signed)
	return w.resume(trainer)
}

// signGradient lets the signer sign a gradient, and adds the gradient to the worker's record. It
// fails with errNoGradient if the signer does not answer, or has signed another gradient for the
// round. After such an error, refresh reads the signer's record again.
func (w *worker) signGradient(ctx context.Context, r *GradientRequest) (*tx.Tx, error) {
	ask, end := w.openContext(ctx)
	t, err := w.signer.Gradient(ask, r)
	late := ask.Err() != nil
	end()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil && late:
		w.isStale = true
		return nil, fmt.Errorf("%w: the round closed before the signer answered", errNoGradient)
	case errors.Is(err, ErrRate):
		return nil, fmt.Errorf("%w: %w", errNoGradient, err)
	case errors.Is(err, ErrSigner) || errors.Is(err, ErrSigned):
		w.isStale = true
		return nil, fmt.Errorf("%w: %w", errNoGradient, err)
	case err != nil:
		return nil, err
	}
	w.record.Entry = w.record.Entry.merge(r.addition(t, nil, w.record.Entry))
	if !r.CommitFirst {
		w.mu.Lock()
		defer w.mu.Unlock()
		t.Vouch(w.keys.VRF, r.input())
	}
	return t, nil
}

// openContext returns a context for a request to a signer in another process, which may not answer.
// The context ends when the task's round closes. The caller calls end after the request; end
// returns when the goroutine of openContext has ended.
func (w *worker) openContext(ctx context.Context) (ask context.Context, end func()) {
	if _, local := w.signer.(*Local); local {
		return ctx, func() {}
	}
	ask, cancel := context.WithCancel(ctx)
	pub, task := w.public(), w.task
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.awaitClose(ask, pub, task)
		cancel()
	}()
	return ask, func() { cancel(); <-ended }
}

// signCommitment lets the signer sign the commitment to a gradient.
func (w *worker) signCommitment(ctx context.Context, t *tx.Tx) (*tx.Tx, error) {
	g := t.Gradient
	c := &tx.Commit{Epoch: g.Epoch, Round: g.Round, Participant: g.Participant, Hash: t.Content[:]}
	if f, ok := w.chain.(Forger); ok {
		return f.Sign(w.task, c)
	}
	signed, err := w.signer.Commit(ctx, w.task.ChainID, c)
	if err == nil {
		w.mu.Lock()
		defer w.mu.Unlock()
		signed.Vouch(w.keys.VRF, leader.Input(w.task.ChainID, g.Epoch, g.Round, w.task.Seed))
	}
	return signed, err
}
