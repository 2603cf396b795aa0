package node

import (
	"context"
	"time"

	"github.com/cometbft/cometbft/mempool"
)

// The transactions of a round that stays open are sent again after firstRegossip, and then after
// pauses that double each time, up to lastRegossip. The caller adds twice the transfer time of a
// round's bytes to the first pause.
const (
	firstRegossip = 2 * time.Second
	lastRegossip  = time.Minute
)

// synced waits until the node has caught up. A transaction that is sent before that is lost.
func (r *Running) synced(ctx context.Context) error {
	for r.Node.ConsensusReactor().WaitSync() {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(20 * time.Millisecond):
		}
	}
	return nil
}

// gossipAgain submits the pool's transactions to the mempool again while a round stays open.
// Without it a gradient might never leave its own node, because the mempool sends a transaction to
// a peer only once, and a syncing peer drops it.
func (r *Running) gossipAgain(ctx context.Context, first time.Duration) {
	pause := first
	_, last := r.Application.Pending()
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		raws, round := r.Application.Pending()
		if round != last {
			last, pause = round, first
			continue
		}
		pause = min(2*pause, lastRegossip)
		if len(raws) == 0 || r.Node.ConsensusReactor().WaitSync() {
			continue
		}
		pool := r.Node.Mempool()
		pool.Flush() // Flush also empties the cache, which would reject these transactions
		for _, raw := range raws {
			_ = pool.CheckTx(raw, nil, mempool.TxInfo{}) // a rejection has no consequence here
		}
	}
}
