package reactor

import (
	"encoding/hex"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cometbft/cometbft/consensus"
	"github.com/cometbft/cometbft/crypto/tmhash"
	cmtnode "github.com/cometbft/cometbft/node"
	"github.com/cometbft/cometbft/p2p"
	cmtcons "github.com/cometbft/cometbft/proto/tendermint/consensus"
	cmtproto "github.com/cometbft/cometbft/proto/tendermint/types"
	gogotypes "github.com/cosmos/gogoproto/types"

	"github.com/spdl/spdl/abci/limit"
	"github.com/spdl/spdl/app"
)

// peersChannel carries each node's list of its peers: a channel id that CometBFT leaves free, with
// the lowest priority.
const (
	peersChannel = byte(0x54)
	maxPeers     = 1024
	// broadcastPause is the time for which changes of the list are collected before it is sent.
	broadcastPause = 200 * time.Millisecond
)

const (
	// relayPause is the minimum time a node waits for other nodes to forward a part before
	// forwarding it itself. Up to 50 % jitter is added, and half of the transfer time if the
	// chain's rounds take long to transfer: otherwise all nodes would send the parts for which a
	// link is too slow. After the first pause relays nodes forward the part, after each further
	// pause relays more, and after maxPauses all other nodes. So malicious members that withhold
	// parts delay a block by at most maxPauses pauses.
	relayPause = 200 * time.Millisecond
	// relays is the number of nodes that forward a part at once to a peer that the sender of the
	// part is not connected to. With only one, a silent node would delay the peer by relayPause.
	relays    = 2
	maxPauses = 2
)

// BlockRelay is CometBFT's consensus reactor with another way to spread blocks. CometBFT sends each
// part of a block to all peers that have not sent it first, so that a node receives it from most of
// its peers. With BlockRelay nodes tell each other their peers, and choose who forwards a part:
//
//   - If the sender of the part is also connected to the target peer, the node leaves forwarding to
//     the sender. Otherwise relays of the nodes connected to both, chosen by hash, forward it at
//     once.
//   - If the target peer still lacks the part after relayPause, further nodes send it, relays at a
//     time.
//   - If the target peer reports that it lacks parts of a block with a majority, the first of these
//     nodes send them at once.
//   - A peer that sends no list of its peers does not run BlockRelay, and gets each part at once.
//
// Only the transport changes. Proposals and votes travel as in CometBFT.
type BlockRelay struct {
	*consensus.Reactor
	limit.Messages
	sw      p2p.Switcher
	flood   bool              // forward as CometBFT does
	private string            // ids of peers that are in no list
	state   func() *app.State // the application's state, nil before there is one
	trusts  func(p2p.ID) bool // whether a peer takes part in the choice by hash; nil means that every peer does

	mu           sync.Mutex
	own          proposal         // the place of this node's last proposal
	height       int64            // the height of parts
	pause        time.Duration    // relayPause plus half the transfer time, at that height
	parts        map[part]arrival // the parts received at height
	peers        map[p2p.ID]*peerSet
	broadcasting bool // a list is about to be sent
}

// proposal is the height and consensus round of a proposal.
type proposal struct {
	height int64
	round  int32
}

// part is a part of a block of one height.
type part struct {
	round int32
	index uint32
	leaf  string // the hash of the leaf
}

// arrival is the time at which a part was first received, and its sender.
type arrival struct {
	from p2p.ID
	at   time.Time
}

// NewBlockRelay returns the reactor. Private has the ids of the peers that are in no list. Trusts
// reports whether a peer is a known node, and may be nil.
func NewBlockRelay(flood bool, private string, state func() *app.State, trusts func(p2p.ID) bool,
	b limit.Messages) *BlockRelay {
	return &BlockRelay{flood: flood, trusts: trusts, Messages: b, private: private, state: state, pause: relayPause,
		parts: map[part]arrival{}, peers: map[p2p.ID]*peerSet{}}
}

// Install is a node option that replaces the consensus reactor by the relay.
func (r *BlockRelay) Install(n *cmtnode.Node) {
	if r.flood {
		return
	}
	r.Reactor = n.ConsensusReactor()
	cmtnode.CustomReactors(map[string]p2p.Reactor{"CONSENSUS": r})(n)
}

// SetSwitch implements p2p.Reactor.
func (r *BlockRelay) SetSwitch(s p2p.Switcher) {
	r.Reactor.SetSwitch(s)
	r.sw = s
}

// GetChannels implements p2p.Reactor.
func (r *BlockRelay) GetChannels() []*p2p.ChannelDescriptor {
	return append(r.Apply(r.Reactor.GetChannels()), &p2p.ChannelDescriptor{
		ID: peersChannel, Priority: 1, SendQueueCapacity: 2,
		RecvMessageCapacity: maxPeers*p2p.IDByteLength + 16, MessageType: &gogotypes.BytesValue{},
	})
}

// InitPeer implements p2p.Reactor: proposals, parts and votes for the peer go through its
// partScheduler.
func (r *BlockRelay) InitPeer(peer p2p.Peer) p2p.Peer {
	f := &partScheduler{Peer: peer, relay: r}
	r.Reactor.InitPeer(f)
	peer.Set(schedulerKey, f)
	return r.Track(peer)
}

// FilterMsgBytes implements p2p.MsgBytesFilter.
func (r *BlockRelay) FilterMsgBytes(channel byte, from p2p.Peer, message []byte) error {
	r.Finished(from, channel, len(message))
	return nil
}

// AddPeer implements p2p.Reactor.
func (r *BlockRelay) AddPeer(peer p2p.Peer) {
	r.Reactor.AddPeer(peer)
	r.broadcastPeers()
}

// RemovePeer implements p2p.Reactor.
func (r *BlockRelay) RemovePeer(peer p2p.Peer, reason any) {
	r.Reactor.RemovePeer(peer, reason)
	r.mu.Lock()
	delete(r.peers, peer.ID())
	r.mu.Unlock()
	r.broadcastPeers()
}

// broadcastPeers sends the list of peers to all peers after broadcastPause.
func (r *BlockRelay) broadcastPeers() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.broadcasting {
		return
	}
	r.broadcasting = true
	time.AfterFunc(broadcastPause, func() {
		select {
		case <-r.Quit(): // the node stops
			return
		default:
		}
		r.mu.Lock()
		r.broadcasting = false
		r.mu.Unlock()
		r.sw.BroadcastAsync(p2p.Envelope{ChannelID: peersChannel, Message: &gogotypes.BytesValue{Value: r.peerList()}})
	})
}

// peerList returns the ids of the connected peers, without the private ones.
func (r *BlockRelay) peerList() (ids []byte) {
	for _, p := range r.sw.Peers().Copy() {
		id, err := hex.DecodeString(string(p.ID()))
		if err == nil && len(ids) < maxPeers*p2p.IDByteLength && !strings.Contains(r.private, string(p.ID())) {
			ids = append(ids, id...)
		}
	}
	return ids
}

// Receive implements p2p.Reactor.
func (r *BlockRelay) Receive(m p2p.Envelope) {
	switch message := m.Message.(type) {
	case *gogotypes.BytesValue:
		if err := r.onPeerList(m.Src, message.Value); err != nil {
			r.sw.StopPeerForError(m.Src, err)
		}
		return
	case *cmtcons.BlockPart:
		r.onPart(m.Src.ID(), message)
	case *cmtcons.NewValidBlock:
		if f, ok := m.Src.Get(schedulerKey).(*partScheduler); ok {
			f.flushHeight(message)
		}
	}
	r.Reactor.Receive(m)
}

// onPeerList stores the list of a peer's peers. It returns an error for a list that is too long or
// no list of ids.
func (r *BlockRelay) onPeerList(peer p2p.Peer, list []byte) error {
	if len(list)%p2p.IDByteLength != 0 || len(list) > maxPeers*p2p.IDByteLength {
		return fmt.Errorf("a list of peers of %d bytes, want at most %d ids of %d", len(list), maxPeers, p2p.IDByteLength)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	// the switch stops a peer before it calls RemovePeer, so the list of a stopped peer would never
	// be deleted
	if peer.IsRunning() {
		r.peers[peer.ID()] = &peerSet{peerList: list}
	}
	return nil
}

// peerSet is the list of a peer's peers. It is parsed on first use, so a peer that floods this node
// with lists pays more than this node does.
type peerSet struct {
	peerList []byte
	ids      map[p2p.ID]bool
}

// peersOfPeer returns the peers of a peer, nil if it has sent no list. The caller holds the lock.
func (r *BlockRelay) peersOfPeer(peer p2p.ID) map[p2p.ID]bool {
	p := r.peers[peer]
	if p == nil {
		return nil
	}
	if p.ids == nil {
		p.ids = map[p2p.ID]bool{}
		for id := range slices.Chunk(p.peerList, p2p.IDByteLength) {
			p.ids[p2p.ID(hex.EncodeToString(id))] = true
		}
	}
	return p.ids
}

// OnProposal records that this node signs a proposal.
func (r *BlockRelay) OnProposal(p *cmtproto.Proposal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.own = proposal{p.Height, p.Round}
}

// maxArrivals bounds the recorded parts: those of the largest block, in several consensus rounds.
// Parts beyond that are most likely invented by a peer.
const maxArrivals = 1 << 13

// onPart records the first sender of a part of the next block. Parts of other heights, which a peer
// may invent, are not recorded.
func (r *BlockRelay) onPart(from p2p.ID, m *cmtcons.BlockPart) {
	s := r.state()
	if s == nil || m.Height != int64(s.Height)+1 || len(m.Part.Proof.LeafHash) != tmhash.Size {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if m.Height != r.height || len(r.parts) >= maxArrivals {
		r.height, r.pause = m.Height, relayPause+limit.TransferTime(s.Params, s.Participants)/2
		clear(r.parts)
	}
	key := partOf(m)
	if _, ok := r.parts[key]; !ok {
		r.parts[key] = arrival{from, time.Now()}
	}
}

func partOf(m *cmtcons.BlockPart) part {
	return part{m.Round, m.Part.Index, string(m.Part.Proof.LeafHash)}
}

// sendTime returns the time at which this node sends a part to a peer that lacks it; the zero time
// means at once. later is the delay of this node after the first nodes that forward the part. A
// node with a later of 0 also sends the part as soon as the peer reports that it lacks it.
func (r *BlockRelay) sendTime(to p2p.ID, m *cmtcons.BlockPart) (at time.Time, later time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	came, ok := r.parts[partOf(m)]
	if !ok || m.Height != r.height || r.own == (proposal{m.Height, m.Round}) || r.sendsNow(came.from, to, m) {
		return at, 0
	}
	later = time.Duration(min(r.rank(r.peersOfPeer(to), r.peersOfPeer(to), to, m)/relays, maxPauses)) * r.pause
	return came.at.Add(r.pause + later), later
}

// votedPause returns the constant votedPause plus half the transfer time at the height of the
// parts.
func (r *BlockRelay) votedPause() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return votedPause + r.pause - relayPause
}

// sendsNow reports whether this node forwards a part at once. From is the sender of the part. The
// caller holds the lock.
func (r *BlockRelay) sendsNow(from, to p2p.ID, m *cmtcons.BlockPart) bool {
	theirs, its := r.peersOfPeer(from), r.peersOfPeer(to)
	if theirs == nil || its == nil {
		return true
	}
	if theirs[to] && its[from] {
		return false
	}
	return r.rank(theirs, its, to, m) < relays
}

// rank returns the number of other nodes in both sets of peers that come before this node as
// senders of a part. It does not count untrusted nodes, because an attacker can run any number of
// them. The caller holds the lock.
func (r *BlockRelay) rank(theirs, its map[p2p.ID]bool, to p2p.ID, m *cmtcons.BlockPart) (n int) {
	own := r.sw.NodeInfo().ID()
	rank := priority(own, m)
	for other := range theirs {
		if its[other] && other != own && other != to && priority(other, m) < rank && (r.trusts == nil || r.trusts(other)) {
			n++
		}
	}
	return n
}

// priority is the rank of a node as a sender of a part, the same at all nodes (rendezvous hashing).
func priority(id p2p.ID, m *cmtcons.BlockPart) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %d %d %s", m.Height, m.Round, m.Part.Index, id)
	return h.Sum64()
}
