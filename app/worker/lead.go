package worker

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/spdl/spdl/app/tx"
)

// lead signs and sends an aggregate whenever the participant may lead.
func (w *worker) lead(ctx context.Context, chainID string, participant uint32) error {
	var sent []byte // the last aggregate that was submitted
	for said := ""; ; {
		draft, err := w.chain.Lead(ctx, participant)
		if err == nil && w.isSkipped(draft.Epoch, draft.Round) {
			if err := w.pause(ctx); err != nil {
				return err
			}
			continue
		}
		if err == nil {
			var t *tx.Tx
			t, err = w.sign(ctx, chainID, participant, draft)
			switch {
			case err == nil:
				err, sent = w.submitAggregate(ctx, t, sent), t.Raw
			case errors.Is(err, ErrDraft) || errors.Is(err, ErrSigner) || errors.Is(err, ErrRate):
			default: // the journal cannot be written
				return err
			}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			if text := err.Error(); text != said {
				said = text
				w.Log("aggregate not delivered", "err", err)
			}
			if err := w.pause(ctx); err != nil {
				return err
			}
		}
	}
}

// submitAggregate submits the aggregate t. lastRaw has the bytes of the aggregate that was submitted last. If t has the
// same bytes, the node's pool has dropped the aggregate, for example because its execution failed. The mempool may
// still have it and accept it at once, so submitAggregate pauses first.
func (w *worker) submitAggregate(ctx context.Context, t *tx.Tx, lastRaw []byte) error {
	if bytes.Equal(t.Raw, lastRaw) {
		if err := w.pause(ctx); err != nil {
			return err
		}
	}
	return w.chain.Submit(ctx, t)
}

// sign lets the signer sign a draft. It fails with ErrDraft if the draft's leader is another participant.
func (w *worker) sign(ctx context.Context, chainID string, participant uint32, draft *tx.Aggregate) (*tx.Tx, error) {
	if draft.Leader != participant {
		return nil, fmt.Errorf("%w: it is participant %d's, this is %d", ErrDraft, draft.Leader, participant)
	}
	return w.signer.Aggregate(ctx, chainID, draft)
}
