package light

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/app/tx"
)

// TestSendersEndWithTheirCallers: while no node answers, a transaction is offered to the nodes as long
// as its caller waits, and no longer.
func TestSendersEndWithTheirCallers(t *testing.T) {
	var clients []*client.Client
	for range 2 {
		c, err := client.New("tcp://127.0.0.1:1") // nobody listens
		require.NoError(t, err)
		clients = append(clients, c)
	}
	c := &chain{verifier: &verifier{nodes: newNodes(clients, "chain")}, poll: time.Millisecond}
	for _, n := range c.nodes.all {
		n.failed = 1
	}
	senders := func() (n int) {
		c.outbox.mu.Lock()
		defer c.outbox.mu.Unlock()
		for _, x := range c.nodes.all {
			n += x.senders
		}
		return n + len(c.outbox.waiting)
	}
	ctx, cancel := context.WithCancel(t.Context())
	c.put(&submission{ctx: ctx, tx: &tx.Tx{Raw: []byte{1}}, done: make(chan error, 1)})
	time.Sleep(50 * time.Millisecond)
	require.Positive(t, senders())
	cancel()
	require.Eventually(t, func() bool { return senders() == 0 }, 5*time.Second, time.Millisecond)
}
