package worker

import (
	"context"
	"errors"
	"fmt"

	"github.com/spdl/spdl/app/tx"
)

// lead signs and sends an aggregate whenever the participant may lead.
func (w *worker) lead(ctx context.Context, chainID string, participant uint32) error {
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
				err = w.chain.Submit(ctx, t)
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

// sign lets the signer sign a draft. It fails with ErrDraft if the draft's leader is another
// participant.
func (w *worker) sign(ctx context.Context, chainID string, participant uint32, draft *tx.Aggregate) (*tx.Tx, error) {
	if draft.Leader != participant {
		return nil, fmt.Errorf("%w: it is participant %d's, this is %d", ErrDraft, draft.Leader, participant)
	}
	return w.signer.Aggregate(ctx, chainID, draft)
}
