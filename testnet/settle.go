package testnet

import (
	"cmp"
	"context"
	"time"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/internal/wait"
)

// settlePatience is the time for which Settle waits.
const settlePatience = 5 * time.Second

// Settle waits for the block after that of the last round: its header has the hash of the last model, with which the
// homes can prove the model after the net has stopped. Without that block, Settle returns after settlePatience.
func (n *Net) Settle(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, settlePatience)
	defer cancel()
	c, err := client.New(n.Nodes[0].RPC)
	if err != nil {
		return
	}
	for from := int64(0); ; {
		s, err := c.RPC().Status(ctx)
		if err != nil || from > 0 && s.SyncInfo.LatestBlockHeight > from {
			return
		}
		from = cmp.Or(from, s.SyncInfo.LatestBlockHeight)
		if wait.For(ctx, 50*time.Millisecond) != nil {
			return
		}
	}
}
