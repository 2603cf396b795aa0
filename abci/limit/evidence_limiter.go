package limit

import (
	"maps"
	"sync"
	"time"

	cmtnode "github.com/cometbft/cometbft/node"
	"github.com/cometbft/cometbft/p2p"
	cmtproto "github.com/cometbft/cometbft/proto/tendermint/types"
)

// These are limits on the pieces of evidence that a node accepts in each period, from one peer and from all peers. A
// validator can sign any number of valid pieces against itself, but one piece is enough to convict it. The evidence
// pool rejects further pieces (see abci/databases), but only after CometBFT has verified them.
const (
	maxPeerPieces = 32
	piecesPeriod  = 10 * time.Second
	// maxPieces is the max number of pieces that the node accepts from all peers together in a period. Beyond maxPieces
	// the node still accepts fairPieces pieces from each peer, so that many peers cannot shut out another peer.
	maxPieces, fairPieces = 96, 2
)

// evidenceLimiter wraps CometBFT's evidence reactor, and drops messages with pieces beyond
// maxPeerPieces or maxPieces. No evidence is lost: an honest peer sends its evidence again at its
// next broadcast, and a proposer puts its evidence into its block.
type evidenceLimiter struct {
	p2p.Reactor
	now   func() time.Time
	mu    sync.Mutex
	peers map[p2p.ID]*pieceCount
}

// pieceCount counts the pieces that the node accepted from one peer since the start of the period.
type pieceCount struct {
	start  time.Time
	pieces int
}

func newEvidenceLimiter(r p2p.Reactor) *evidenceLimiter {
	return &evidenceLimiter{Reactor: r, now: time.Now, peers: map[p2p.ID]*pieceCount{}}
}

// EvidenceLimiter is a node option that wraps the evidence reactor in an evidenceLimiter.
func EvidenceLimiter(n *cmtnode.Node) {
	const name = "EVIDENCE"
	if r, ok := n.Switch().Reactor(name); ok {
		n.Switch().RemoveReactor(name, r)
		n.Switch().AddReactor(name, newEvidenceLimiter(r))
	}
}

// Receive implements p2p.Reactor.
func (g *evidenceLimiter) Receive(m p2p.Envelope) {
	if list, ok := m.Message.(*cmtproto.EvidenceList); ok && !g.admit(m.Src.ID(), len(list.Evidence)) {
		return
	}
	g.Reactor.Receive(m)
}

// admit reports whether the given number of pieces from the peer is within the limits. If it is,
// admit counts the pieces.
func (g *evidenceLimiter) admit(peer p2p.ID, pieces int) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	now := g.now()
	in := g.peers[peer]
	if in == nil || now.Sub(in.start) >= piecesPeriod {
		// A peer that reconnects within the period keeps its count.
		maps.DeleteFunc(g.peers, func(_ p2p.ID, in *pieceCount) bool { return now.Sub(in.start) >= piecesPeriod })
		in = &pieceCount{start: now}
		g.peers[peer] = in
	}
	total := 0
	for _, in := range g.peers {
		if now.Sub(in.start) < piecesPeriod {
			total += in.pieces
		}
	}
	if after := in.pieces + pieces; after > maxPeerPieces || total+pieces > maxPieces && after > fairPieces {
		return false
	}
	in.pieces += pieces
	return true
}
