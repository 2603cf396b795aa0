package node

import (
	"maps"
	"sync"
	"time"

	cmtnode "github.com/cometbft/cometbft/node"
	"github.com/cometbft/cometbft/p2p"
	cmtproto "github.com/cometbft/cometbft/proto/tendermint/types"
)

// Bounds of the evidence that a node takes from one peer, and from all: pieces in each period. A
// validator can sign any number of valid pieces against itself, one of which convicts it. The pool
// refuses the rest (see convictions), but only once CometBFT has verified each.
const (
	gatePieces = 32
	gatePeriod = 10 * time.Second
	// gateAll bounds the pieces of all peers together. Beyond it a peer has gateShare, so that a crowd
	// leaves room for the others.
	gateAll, gateShare = 96, 2
)

// gate is CometBFT's evidence reactor behind that bound. What a peer sends beyond it is dropped: of
// an honest peer's the rest comes with its next sending, and a proposer brings its own.
type gate struct {
	p2p.Reactor
	now   func() time.Time
	mu    sync.Mutex
	peers map[p2p.ID]*intake
}

// intake is what a peer has sent since a moment.
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

// takes counts pieces of a peer, and reports whether they are within the bound.
func (g *gate) takes(peer p2p.ID, pieces int) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.now()
	in := g.peers[peer]
	if in == nil || now.Sub(in.since) >= gatePeriod {
		// Who left and came back has the bound that it had.
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
