//go:build !js

package light

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/spdl/spdl/abci"
	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/app/tx"
)

const (
	// maxSending is the max number of requests with transactions that are under way at once to the
	// only node. If several nodes are known, each has one.
	maxSending = 2
	// batchBytes bounds the bytes of the transactions in one request, unless it has only one.
	batchBytes = 64 << 10
	// slowest is the transfer rate in bytes a second that a request with transactions may count on
	// before it goes to another node.
	slowest = 256 << 10
)

// outbox holds the transactions that wait to be sent. Each node takes from it as fast as it answers.
// A node that hangs keeps the transactions of one request until that times out; then another node
// takes them.
type outbox struct {
	mu      sync.Mutex
	waiting []*submission
}

// submission is a transaction whose sender waits for the verdict.
type submission struct {
	ctx   context.Context
	tx    *tx.Tx
	tried int        // the number of nodes that did not answer
	done  chan error // receives the verdict
}

// Submit broadcasts the transaction and returns the verdict of CheckTx.
func (c *chain) Submit(ctx context.Context, t *tx.Tx) error {
	c.cache.add(t)
	s := &submission{ctx: ctx, tx: t, done: make(chan error, 1)}
	c.put(s)
	select {
	case err := <-s.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// put adds submissions to the outbox, and starts senders for all nodes that do not rest, or for all
// if all rest.
func (c *chain) put(added ...*submission) {
	o := &c.outbox
	o.mu.Lock()
	defer o.mu.Unlock()
	o.waiting = append(o.waiting, added...)
	most, now, started := 1, time.Now(), false
	if len(c.nodes.all) == 1 {
		most = maxSending
	}
	for _, rested := range []bool{true, false} {
		for _, n := range c.nodes.all {
			if started || rested && now.Before(n.rests) {
				continue
			}
			if n.senders < most {
				n.senders++
				go c.send(n)
			}
		}
		started = len(c.nodes.all) > 0
	}
}

// take returns the submissions of the next request to a node, nil if none waits. The sender then
// ends.
func (o *outbox) take(n *node) (batch []*submission, size int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.waiting) > 0 && len(batch) < client.MaxBatch {
		next := o.waiting[0]
		if len(batch) > 0 && size+len(next.tx.Raw) > batchBytes {
			break
		}
		o.waiting = o.waiting[1:]
		if next.ctx.Err() == nil {
			batch, size = append(batch, next), size+len(next.tx.Raw)
		}
	}
	if batch == nil {
		n.senders--
	}
	return batch, size
}

// send sends what waits in the outbox to a node, until nothing waits or the node fails.
func (c *chain) send(n *node) {
	for {
		batch, size := c.outbox.take(n)
		if batch == nil {
			return
		}
		txs := make([]*tx.Tx, len(batch))
		for i, s := range batch {
			txs[i] = s.tx
		}
		ctx, cancel := context.Background(), context.CancelFunc(func() {})
		if len(c.nodes.all) > 1 {
			ctx, cancel = context.WithTimeout(ctx, patience+time.Duration(size)*time.Second/slowest)
		}
		errs := n.BroadcastAll(ctx, txs)
		cancel()
		var again []*submission
		for i, s := range batch {
			if errors.Is(errs[i], client.ErrUnreachable) {
				if s.tried++; s.tried < len(c.nodes.all) {
					again = append(again, s)
					continue
				}
			}
			s.done <- c.verdict(n, s, errs[i])
		}
		if c.rest(n, len(again) > 0) {
			c.put(again...)
			return
		}
	}
}

// rest notes whether a node failed to answer. If it did, its sender ends, and nothing is sent to it
// for a while, which doubles from one failure to the next, up to 8 s.
func (c *chain) rest(n *node, failed bool) bool {
	c.outbox.mu.Lock()
	defer c.outbox.mu.Unlock()
	if !failed {
		n.failed = 0
		return false
	}
	n.rests = time.Now().Add(time.Second << min(n.failed, 3))
	n.failed++
	n.senders--
	return true
}

// verdict returns a worker's error for a node's answer. A refusal counts only if the node that the
// workers follow agrees: another node may be behind, and not know the round yet.
func (c *chain) verdict(n *node, s *submission, err error) error {
	var refusal *client.Refusal
	if followed := c.nodes.current(); errors.As(err, &refusal) && n != followed {
		ctx, cancel := context.WithTimeout(s.ctx, patience)
		defer cancel()
		err = followed.BroadcastForm(ctx, s.tx)
	}
	if errors.As(err, &refusal) {
		return abci.Verdict(refusal.Code, refusal.Log)
	}
	return err
}
