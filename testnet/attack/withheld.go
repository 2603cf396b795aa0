package attack

import (
	"context"

	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/app/worker"
)

// withheld is a participant that withholds its gradient, and so its VRF output, in rounds in which
// it dislikes the output. A participant has no other influence on the seed of the next round.
type withheld struct{ worker.Chain }

// Submit drops a gradient whose VRF proof ends in an odd byte.
func (w withheld) Submit(ctx context.Context, t *tx.Tx) error {
	if g := t.Gradient; g != nil && len(g.VrfProof) > 0 && g.VrfProof[len(g.VrfProof)-1]&1 == 1 {
		return nil
	}
	return w.Chain.Submit(ctx, t)
}
