package reactor

import (
	"fmt"
	"maps"
	"slices"

	"github.com/cometbft/cometbft/p2p"

	"github.com/spdl/spdl/abci/metrics"
	"github.com/spdl/spdl/app/tx"
)

// onGossip handles a peer's message about transactions.
func (g *TxReactor) onGossip(from p2p.Peer, m *Gossip) {
	var lists [4][]hash
	for i, raw := range [][]byte{m.Have, m.Sending, m.Want, m.Lack} {
		if len(raw)%len(hash{}) != 0 || len(raw) > maxHashes*len(hash{}) {
			g.stop(from, fmt.Errorf("a list of %d bytes, want at most %d hashes of %d", len(raw), maxHashes, len(hash{})))
			return
		}
		for h := range slices.Chunk(raw, len(hash{})) {
			lists[i] = append(lists[i], hash(h))
		}
	}
	g.log.Debug("lists of hashes received", "peer", from.ID(), "have", len(lists[0]), "sending", len(lists[1]), "want",
		len(lists[2]), "lack", len(lists[3]))
	g.count(metrics.ReceivedAnnouncement, m.Size())
	box := g.queueOf(from.ID())
	if box == nil {
		return // the peer has left
	}
	g.onAnnounced(box, lists[1], true)
	g.onAnnounced(box, lists[0], false)
	var lack []byte
	for _, h := range lists[2] {
		if !box.serve(h) {
			lack = append(lack, h[:]...)
		}
	}
	if lack != nil {
		from.TrySend(*gossipEnvelope(Gossip{Lack: lack}))
	}
	for _, h := range lists[3] {
		g.sendRequests(g.requests.notFound(from.ID(), h))
	}
	if g.queueOf(from.ID()) == nil { // the peer left, and RemovePeer ran before these announcements were recorded
		g.sendRequests(g.requests.removePeer(from.ID()))
	}
}

// onAnnounced records the transactions that a peer announces, or that it is already sending
// (isSending), and requests the transactions that this node needs.
func (g *TxReactor) onAnnounced(box *peerQueue, list []hash, isSending bool) {
	height := g.height()
	for _, h := range list {
		box.markKnown(h)
		if g.pool.PoolTx(h) != nil {
			continue
		}
		g.mu.Lock()
		settled := g.recentTxs.isSettled(h, height) || g.checking[h] > 0
		g.mu.Unlock()
		if !settled {
			g.requests.announce(box.peer.ID(), h, isSending)
		}
	}
	if !g.WaitSync() {
		g.sendRequests(g.requests.schedule(list))
	}
}

// sendRequests sends requests to peers. A request that cannot be sent is queued again.
func (g *TxReactor) sendRequests(asks []wantTx) {
	lists := map[p2p.ID][]wantTx{}
	for _, a := range asks {
		lists[a.peer] = append(lists[a.peer], a)
	}
	for peer, list := range lists {
		box := g.queueOf(peer)
		for part := range slices.Chunk(list, maxHashes) {
			var hashes []byte
			for _, a := range part {
				hashes = append(hashes, a.hash[:]...)
			}
			sent := box != nil && box.peer.TrySend(*gossipEnvelope(Gossip{Want: hashes}))
			g.log.Debug("transactions requested", "peer", peer, "transactions", len(part), "sent", sent)
			if !sent {
				for _, a := range part {
					g.requests.requeue(a)
				}
			}
		}
	}
}

// Admitted gossips the transactions that the application has admitted.
type Admitted interface{ OnAdmitted(*tx.Tx) }

// OnAdmitted queues t for every peer, before the mempool takes t. If a client submitted t to this
// node, the node sends t; if a peer relayed t, the node only announces the hash. Aggregates are
// only announced, because AggregateReactor sends them. If t is admitted again while its round is
// still open, the node announces t again, unless a peer relayed t.
func (g *TxReactor) OnAdmitted(t *tx.Tx) {
	p := queuedTx{hash: t.Hash, height: g.height()}
	if g.pool.PoolTx(t.Hash) == nil {
		p.raw = t.Raw
	}
	_, ofRound := tx.PlaceOf(t)
	g.mu.Lock()
	relayed := g.checking[p.hash] > 0
	p.isRepetition = g.recentTxs.isAdmitted(p.hash)
	g.recentTxs.Add(p.hash, txStatus{p.height, true, ofRound})
	all := slices.Collect(maps.Values(g.queues))
	g.mu.Unlock()
	if relayed && p.isRepetition {
		return
	}
	if !relayed {
		g.requests.finish("", p.hash, false)
	}
	g.log.Debug("transaction admitted", "hash", p.hash, "kind", t.Kind(), "announced", relayed || p.isRepetition ||
		t.Aggregate != nil, "peers", len(all))
	for _, b := range all {
		if relayed || p.isRepetition || t.Aggregate != nil {
			b.announce(p)
		} else {
			b.push(p)
		}
	}
}

// Expects reports whether a transaction is about to arrive: a peer has announced it, or CheckTx is processing it.
func (g *TxReactor) Expects(h [32]byte) bool {
	g.mu.Lock()
	judging := g.checking[h] > 0
	g.mu.Unlock()
	return judging || g.requests.isAnnounced(h)
}
