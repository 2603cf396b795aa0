package attack

import (
	"context"

	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/app/worker"
)

// withheld withholds its gradient, and with it its VRF output, in rounds whose output it dislikes:
// this is a participant's only influence on the seed of the next round.
type withheld struct{ worker.Chain }

// Submit drops the gradients whose proof ends in an odd byte.
func (w withheld) Submit(ctx context.Context, t *tx.Tx) error {
	if g := t.Gradient; g != nil && len(g.VrfProof) > 0 && g.VrfProof[len(g.VrfProof)-1]&1 == 1 {
		return nil
	}
	return w.Chain.Submit(ctx, t)
}
