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

// broadcast hands a transaction to the sender's own node and puts it on the way
// to all others. It returns the own node's refusal, which keeps no Byzantine
// sender from sending.
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

// deliver lets arrive what is due, in the order in which it was sent, and tells
// whether anything was.
func (n *Net) deliver() bool {
	due := n.queue
	n.queue = nil
	moved := false
	for _, m := range due {
		to := n.Nodes[m.to]
		switch {
		case m.wait > 0 || n.cut(n.Nodes[m.from], to) || !to.live():
			n.queue = append(n.queue, m) // gossip tries again, as the node does with a round that stalls
		default:
			_ = to.receive(m.raw) // a refusal is the sender's matter
			moved = true
		}
	}
	return moved
}

// age brings what is on its way one step nearer.
func (n *Net) age() {
	for i := range n.queue {
		n.queue[i].wait = max(0, n.queue[i].wait-1)
	}
}

// receive returns what a node's mempool does with a transaction.
func (node *Node) receive(raw []byte) error {
	r, err := node.App.CheckTx(context.Background(), &abcitypes.RequestCheckTx{Tx: raw})
	if err != nil {
		panic(err) // CheckTx answers by a code
	}
	return abci.Verdict(r.Code, r.Log)
}
