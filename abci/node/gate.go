package node

import (
	"maps"
	"sync"
	"time"

	cmtnode "github.com/cometbft/cometbft/node"
	"github.com/cometbft/cometbft/p2p"
	cmtproto "github.com/cometbft/cometbft/proto/tendermint/types"
)

// Limits on the evidence that a node takes from one peer, and from all peers: pieces in each
// period. A validator can sign any number of valid pieces against itself, but one piece convicts
// it. The pool rejects the rest (see convictions), but only after CometBFT has verified each piece.
const (
	gatePieces = 32
	gatePeriod = 10 * time.Second
	// gateAll limits the pieces of all peers together. Beyond it a peer may send gateShare, so that a
	// crowd cannot shut out the other peers.
	gateAll, gateShare = 96, 2
)

// gate is CometBFT's evidence reactor behind those limits. A message beyond them is dropped: an
// honest peer sends its evidence again at its next broadcast, and a proposer's block carries its
// own.
type gate struct {
	p2p.Reactor
	now   func() time.Time
	mu    sync.Mutex
	peers map[p2p.ID]*intake
}

// intake counts the pieces taken from a peer since a moment.
type intake struct {
	since  time.Time
	pieces int
}

func newGate(r p2p.Reactor) *gate {
	return &gate{Reactor: r, now: time.Now, peers: map[p2p.ID]*intake{}}
}

// gated is a node's option that puts its evidence reactor behind a gate.
func gated(n *cmtnode.Node) {
	const name = "EVIDENCE"
	if r, ok := n.Switch().Reactor(name); ok {
		n.Switch().RemoveReactor(name, r)
		n.Switch().AddReactor(name, newGate(r))
	}
}

// Receive implements p2p.Reactor.
func (g *gate) Receive(m p2p.Envelope) {
	if list, ok := m.Message.(*cmtproto.EvidenceList); ok && !g.takes(m.Src.ID(), len(list.Evidence)) {
		return
	}
	g.Reactor.Receive(m)
}

// takes reports whether pieces of a peer are within the limits, and counts them if they are.
func (g *gate) takes(peer p2p.ID, pieces int) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.now()
	in := g.peers[peer]
	if in == nil || now.Sub(in.since) >= gatePeriod {
		// A peer that reconnects within the period keeps its count.
		maps.DeleteFunc(g.peers, func(_ p2p.ID, in *intake) bool { return now.Sub(in.since) >= gatePeriod })
		in = &intake{since: now}
		g.peers[peer] = in
	}
	total := 0
	for _, in := range g.peers {
		if now.Sub(in.since) < gatePeriod {
			total += in.pieces
		}
	}
	if after := in.pieces + pieces; after > gatePieces || total+pieces > gateAll && after > gateShare {
		return false
	}
	in.pieces += pieces
	return true
}
