//go:build !js

package light

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/spdl/spdl/abci"
	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/app/tx"
)

const (
	// maxSending is the max number of concurrent requests with transactions if only one node is
	// known. If several nodes are known, each node gets one request at a time.
	maxSending = 2
	// maxBatch is the max number of transactions in a request. The node answers after CheckTx of all of
	// them. Requests of abci.MaxTxs transactions to a busy node exceed sendPatience and are sent to
	// other nodes, too: with 3,004 participants that doubles the CPU of a round.
	maxBatch = 10
	// batchBytes is the max total size, in bytes, of the transactions in a request with several transactions.
	batchBytes = 64 << 10
	// linger is the pause of a sender before each request, in which it collects more transactions. A
	// sender pauses only if more than manyCallers callers wait for a state, as in a large worker
	// group, whose workers submit their commitments one by one.
	linger      = 5 * time.Millisecond
	manyCallers = 64
	// sendPatience is the max time, beside the transfer time, that a node may take to answer a request
	// with transactions. It applies only if the workers know another node. A shorter time would move
	// transactions from one busy node to another busy node.
	sendPatience = 2 * time.Second
	// slowest is the lowest accepted transfer rate, in bytes a second. If a node is slower, its
	// request times out and another node gets the transactions.
	slowest = 256 << 10
)

// outbox holds the transactions that wait to be sent. Each node takes the next ones when it has
// answered its last request. A hanging node keeps the transactions of one request until the request
// times out. Then another node takes them.
type outbox struct {
	mu      sync.Mutex
	waiting []*submission
}

// submission is a transaction whose sender waits for the result of CheckTx.
type submission struct {
	ctx   context.Context
	tx    *tx.Tx
	tried int        // the number of nodes that did not answer
	done  chan error // receives nil or the error of CheckTx
}

// Submit broadcasts the transaction and returns the verdict of CheckTx.
func (c *chain) Submit(ctx context.Context, t *tx.Tx) error {
	c.cache.addSent(t)
	s := &submission{ctx: ctx, tx: t, done: make(chan error, 1)}
	c.put(s)
	select {
	case err := <-s.done:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// put adds submissions to the outbox, drops those whose callers have gone, and starts senders for all nodes that do not
// rest. A node rests for some time after a failure. If all nodes rest, put starts senders for all.
func (c *chain) put(added ...*submission) {
	o := &c.outbox
	o.mu.Lock()
	defer o.mu.Unlock()
	o.waiting = slices.DeleteFunc(append(o.waiting, added...), func(s *submission) bool { return s.ctx.Err() != nil })
	if len(o.waiting) == 0 {
		return
	}
	most, now := 1, time.Now()
	if len(c.nodes.all) == 1 {
		most = maxSending
	}
	rests := func(n *node) bool { return now.Before(n.rests) }
	some := slices.ContainsFunc(c.nodes.all, func(n *node) bool { return !rests(n) })
	for _, n := range c.nodes.all {
		if n.senders < most && (!some || !rests(n)) {
			n.senders++
			go c.send(n)
		}
	}
}

// take returns the submissions of the next request to a node, and the total size of their
// transactions in bytes. If no submission waits, it returns nil, and the sender must end.
func (o *outbox) take(n *node) (batch []*submission, size int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for len(o.waiting) > 0 && len(batch) < maxBatch {
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

// send sends the waiting submissions to a node, until no submission waits or the node fails.
func (c *chain) send(n *node) {
	for {
		if !c.mayTake(n) {
			return
		}
		if c.watch.waiting() > manyCallers {
			time.Sleep(linger)
		}
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
			ctx, cancel = context.WithTimeout(ctx, sendPatience+time.Duration(size)*time.Second/slowest)
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

// mayTake reports whether a node may take transactions. If the last request to the node failed and other nodes are
// known, the node must first answer a request for its status. So a hanging node gets transactions only once. If the
// node does not answer, mayTake returns false, and the node's sender must end. Before that, mayTake calls put, which
// starts senders for the nodes that do not rest.
func (c *chain) mayTake(n *node) bool {
	c.outbox.mu.Lock()
	failed := n.failed > 0 && len(c.nodes.all) > 1
	c.outbox.mu.Unlock()
	if !failed || n.checkAlive(context.Background()) == nil {
		return true
	}
	c.rest(n, true)
	time.Sleep(c.poll)
	c.put()
	return false
}

// rest records whether the last request to a node failed, and returns failed. After a failure the
// node rests for 1 s: its sender must end. During the rest, the node gets transactions only if all
// nodes rest. The time doubles with each further failure, up to 8 s.
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

// verdict turns a node's answer into the worker's error. If a node other than the current node
// refuses the transaction, verdict submits it to the current node and uses that node's answer. The
// other node may be behind, and may not know the round yet.
func (c *chain) verdict(n *node, s *submission, err error) error {
	var refusal *client.Refusal
	if followed := c.nodes.current(); errors.As(err, &refusal) && n != followed {
		ctx, cancel := context.WithTimeout(s.ctx, patience)
		defer cancel()
		err = followed.BroadcastAll(ctx, []*tx.Tx{s.tx})[0]
	}
	if errors.As(err, &refusal) {
		return abci.Verdict(refusal.Code, refusal.Log)
	}
	return err
}
