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

// Bounds on the bytes of what is signed: coordinates of the wider grid, the parameters of a momentum, and an
// aggregate with its Delta and, for each participant, an index and a hash.
const (
	maxPayload   = 2 * gradients.MaxDim
	maxMomentum  = 8 * gradients.MaxDim
	maxAggregate = 8*gradients.MaxDim + 48*gradients.MaxParticipants + 512
)

// Signer holds a participant's keys, and the journal of what it has signed with them. For a round
// it signs one gradient and the commitment to it, and for each view of the round one aggregate. A
// second request with the same gradient gets the same signature; a request with another gradient
// gets ErrSigned. A second request for an aggregate gets the first aggregate. Local is a Signer in
// this process; signer.Client asks one in another process, and fails with ErrSigner while that does
// not answer.
type Signer interface {
	// Keys returns the public keys. With reload it reads the key file first, which a rotation may
	// have changed.
	Keys(ctx context.Context, reload bool) (PublicKeys, error)
	// Open opens the journal for the participant with an id on a chain, if it is not open yet, and
	// returns its record.
	Open(ctx context.Context, chainID string, id []byte) (*Record, error)
	// Gradient signs the gradient of a round.
	Gradient(ctx context.Context, r *GradientRequest) (*tx.Tx, error)
	// Commit signs the commitment to the round's signed gradient.
	Commit(ctx context.Context, chainID string, c *tx.Commit) (*tx.Tx, error)
	// Aggregate signs the aggregate for a view of a round.
	Aggregate(ctx context.Context, chainID string, a *tx.Aggregate) (*tx.Tx, error)
	Close() error
}

// PublicKeys holds the public keys of Keys.
type PublicKeys struct {
	Signing ed25519.PublicKey `json:"signing"`
	VRF     ed25519.PublicKey `json:"vrf"`
}

// Place is a round of a chain, and the participant that a signature for it belongs to.
type Place struct {
	ChainID string `json:"chain_id"`
	ID      []byte `json:"participant_id"`
	Epoch   uint64 `json:"epoch"`
	Round   uint64 `json:"round"`
}

// GradientRequest asks for the signature of a gradient. The signer itself makes the VRF proof, so
// that it reveals a proof only inside a signed gradient, and so only one for each round.
type GradientRequest struct {
	Place
	Seed        []byte     `json:"seed"` // a part of the input of the VRF proof
	Participant uint32     `json:"participant"`
	Payload     []byte     `json:"payload"`
	Mechanism   *mechanism `json:"mechanism,omitempty"` // the mechanism's state after this gradient
	Spent       []uint64   `json:"spent"`               // the privacy costs including this gradient
	Counted     uint64     `json:"counted"`             // the number of gradients that the chain has counted
}

// check bounds what the journal keeps of a request. A larger gradient is of no model, and a later worker could
// not read the journal.
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
	case len(r.Spent) > params.LedgerOrders:
		return fmt.Errorf("%w: a ledger of %d orders, want at most %d", ErrSigned, len(r.Spent), params.LedgerOrders)
	case r.Counted > math.MaxInt64:
		return fmt.Errorf("%w: %d gradients counted, want at most %d", ErrSigned, r.Counted, math.MaxInt64)
	}
	return nil
}

func (r *GradientRequest) keep(s privacy.Snapshot) {
	r.Mechanism = &mechanism{app.EncodeParameters(s.Momentum), s.Releases, s.NoiseVariance}
}

// input returns the input of the round's VRF proof.
func (r *GradientRequest) input() []byte { return leader.Input(r.ChainID, r.Epoch, r.Round, r.Seed) }

// addition returns the journal's entry for the signed gradient, as an addition to the entry before.
func (r *GradientRequest) addition(t *tx.Tx, before entry) entry {
	kept := r.Mechanism
	if kept == nil {
		kept = &mechanism{Momentum: app.EncodeParameters(nil)}
	}
	return entry{
		Spent: r.Spent, Signed: max(before.Signed, r.Counted) + 1,
		Gradient:  &signed{Epoch: r.Epoch, Round: r.Round, Raw: t.Raw},
		Mechanism: kept,
	}
}

// begin gets the public keys, waits for the first task, and opens the journal. While the signer
// does not answer, it retries.
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

// ask calls f again and again while the signer does not answer.
func (w *worker) ask(ctx context.Context, f func() error) error {
	for {
		err := f()
		if !errors.Is(err, ErrSigner) {
			return err
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		w.once("waiting for the signer: " + err.Error())
		if err := w.pause(ctx); err != nil {
			return err
		}
	}
}

// refresh asks the signer for its record if an earlier request got no answer, so that the worker
// computes nothing for a round that the signer has signed for. It fails with errNoGradient while
// the signer does not answer.
func (w *worker) refresh(ctx context.Context, trainer *Trainer) error {
	if !w.stale {
		if _, err := w.signer.Keys(ctx, false); err == nil || !errors.Is(err, ErrSigner) {
			return nil
		}
	}
	record, err := w.signer.Open(ctx, w.task.ChainID, w.task.Participant.Id)
	if errors.Is(err, ErrSigner) {
		w.stale = true
		return fmt.Errorf("%w: %w", errNoGradient, err)
	}
	if err != nil {
		return err
	}
	w.record, w.stale = record, false
	w.Log("the signer answers again", "signed", record.Entry.Signed)
	return w.resume(trainer)
}

// signGradient has a gradient signed and adds it to the record. It fails with errNoGradient if the
// signer does not answer, or has signed another gradient for the round; the worker then reads the
// record again.
func (w *worker) signGradient(ctx context.Context, r *GradientRequest) (*tx.Tx, error) {
	ask, end := w.whileOpen(ctx)
	t, err := w.signer.Gradient(ask, r)
	late := ask.Err() != nil
	end()
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil && late:
		w.stale = true
		return nil, fmt.Errorf("%w: the round closed before the signer answered", errNoGradient)
	case errors.Is(err, ErrRate):
		return nil, fmt.Errorf("%w: %w", errNoGradient, err)
	case errors.Is(err, ErrSigner) || errors.Is(err, ErrSigned):
		w.stale = true
		return nil, fmt.Errorf("%w: %w", errNoGradient, err)
	case err != nil:
		return nil, err
	}
	w.record.Entry = w.record.Entry.with(r.addition(t, w.record.Entry))
	w.mu.Lock()
	defer w.mu.Unlock()
	t.Vouch(w.keys.VRF, r.input())
	return t, nil
}

// whileOpen returns a context for a request to a signer in another process, which may not answer.
// The context ends when the task's round closes. end waits until whileOpen no longer uses the
// chain.
func (w *worker) whileOpen(ctx context.Context) (ask context.Context, end func()) {
	if _, local := w.signer.(*Local); local {
		return ctx, func() {}
	}
	ask, cancel := context.WithCancel(ctx)
	pub, task := w.public(), w.task
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		w.closes(ask, pub, task)
		cancel()
	}()
	return ask, func() { cancel(); <-ended }
}

// commit has the commitment to a gradient signed.
func (w *worker) commit(ctx context.Context, t *tx.Tx) (*tx.Tx, error) {
	g := t.Gradient
	c := &tx.Commit{Epoch: g.Epoch, Round: g.Round, Participant: g.Participant, Hash: t.Content[:]}
	if f, ok := w.chain.(Forger); ok {
		return f.Sign(w.task.ChainID, c)
	}
	return w.signer.Commit(ctx, w.task.ChainID, c)
}
