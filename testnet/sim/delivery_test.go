package sim

import (
	"context"

	abcitypes "github.com/cometbft/cometbft/abci/types"

	"github.com/spdl/spdl/abci"
)

// message is a transaction on its way to a node.
type message struct {
	from, to int
	raw      []byte
	wait     int // steps
}

// broadcast gives a transaction to the sender's own node and sends it to all other nodes. It
// returns the rejection by the sender's own node, which does not stop a Byzantine sender.
func (n *Net) broadcast(from *Node, raw []byte) error {
	refusal := from.receive(raw)
	for _, to := range n.Nodes {
		if to == from {
			continue
		}
		wait := 0
		if n.config.Delay != nil {
			wait = n.config.Delay(from.Index, to.Index, n.random)
		}
		if wait >= 0 {
			n.queue = append(n.queue, message{from.Index, to.Index, raw, wait})
		}
	}
	return refusal
}

// cut reports whether no message passes between two nodes.
func (n *Net) cut(a, b *Node) bool { return a != b && (a.Faults.Partitioned || b.Faults.Partitioned) }

// deliver delivers the messages that are due, in the order in which they were sent, and reports
// whether there were any.
func (n *Net) deliver() bool {
	due := n.queue
	n.queue = nil
	moved := false
	for _, m := range due {
		to := n.Nodes[m.to]
		switch {
		case m.wait > 0 || n.cut(n.Nodes[m.from], to) || !to.live():
			n.queue = append(n.queue, m) // sent again, as a node does when a round stalls
		default:
			_ = to.receive(m.raw) // a rejection concerns only the sender
			moved = true
		}
	}
	return moved
}

// age brings every message one step closer to its node.
func (n *Net) age() {
	for i := range n.queue {
		n.queue[i].wait = max(0, n.queue[i].wait-1)
	}
}

// receive returns the verdict of a node's mempool on a transaction.
func (node *Node) receive(raw []byte) error {
	r, err := node.App.CheckTx(context.Background(), &abcitypes.RequestCheckTx{Tx: raw})
	if err != nil {
		panic(err) // CheckTx answers by a code
	}
	return abci.Verdict(r.Code, r.Log)
}
