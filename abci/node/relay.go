package node

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

	"github.com/spdl/spdl/app"
)

// The channel over which nodes tell each other who their peers are: an id that CometBFT leaves
// free, and the least priority.
const (
	peersChannel = byte(0x54)
	maxPeers     = 1024
	// tellPause is how long changes are collected before the peers are told of them.
	tellPause = 200 * time.Millisecond
)

const (
	// relayPause is how long a part of a block is left to the others that are to send it to a peer, at
	// the least, and up to half as long again by chance. Of a chain whose rounds take long to carry it
	// is left to them for half of that more: else all would send the parts for which a link is too
	// slow. Then as many as relays send it, as many more after each further pause, and after maxPauses
	// all others: a crowd of members' nodes that keep parts back delays them by so much.
	relayPause = 200 * time.Millisecond
	// relays is how many of those that have a part from one node send it at once to a peer that this
	// node has no connection to: were it one, an idle one would cost the peer relayPause.
	relays    = 2
	maxPauses = 2
)

// relay is CometBFT's consensus reactor with another way to spread blocks. CometBFT sends each part
// of a block to all peers that have not sent it first, so that a node receives it from most of its
// peers. Here nodes know who the peers of their peers are. A node leaves a part to who it has it
// from, if that is connected to the peer too; else some of those that are connected to both send
// it. Whoever has not got a part after relayPause is sent it by others, some at a time, and at once
// by the first of them whoever says that parts of a block that has a majority are missing. So is a
// peer that tells nothing of its peers: it runs no relay.
//
// Nothing of this is more than transport. Proposals and votes travel as before.
type relay struct {
	*consensus.Reactor
	bounds
	sw      p2p.Switcher
	flood   bool              // as CometBFT does
	private string            // ids of peers that nobody is to hear of
	state   func() *app.State // the application's
	trusts  func(p2p.ID) bool // whose lots count, nil everybody's

	mu     sync.Mutex
	own    turn             // of the node's own last proposal
	height int64            // of the parts
	pause  time.Duration    // relayPause at that height
	parts  map[part]arrival // of the last height
	peers  map[p2p.ID]*peersOf
	tells  bool // the peers are to be told
}

// turn is where a block is proposed.
type turn struct {
	height int64
	round  int32
}

// part is a part of a block of one height.
type part struct {
	round int32
	index uint32
	leaf  string // its hash
}

// arrival is when a part came, and from whom.
type arrival struct {
	from p2p.ID
	at   time.Time
}

func newRelay(flood bool, private string, state func() *app.State) *relay {
	return &relay{flood: flood, private: private, state: state, pause: relayPause, parts: map[part]arrival{}, peers: map[p2p.ID]*peersOf{}}
}

// install is a node's option that puts the relay in the place of the consensus reactor.
func (r *relay) install(n *cmtnode.Node) {
	if r.flood {
		return
	}
	r.Reactor = n.ConsensusReactor()
	cmtnode.CustomReactors(map[string]p2p.Reactor{"CONSENSUS": r})(n)
}

// SetSwitch implements p2p.Reactor.
func (r *relay) SetSwitch(s p2p.Switcher) {
	r.Reactor.SetSwitch(s)
	r.sw = s
}

// GetChannels implements p2p.Reactor.
func (r *relay) GetChannels() []*p2p.ChannelDescriptor {
	return append(r.within(r.Reactor.GetChannels()), &p2p.ChannelDescriptor{
		ID: peersChannel, Priority: 1, SendQueueCapacity: 2,
		RecvMessageCapacity: maxPeers*p2p.IDByteLength + 16, MessageType: &gogotypes.BytesValue{},
	})
}

// InitPeer implements p2p.Reactor: proposals, parts and votes for the peer go through its follower.
func (r *relay) InitPeer(peer p2p.Peer) p2p.Peer {
	f := &follower{Peer: peer, relay: r}
	r.Reactor.InitPeer(f)
	peer.Set(followerKey, f)
	return r.begin(peer)
}

// FilterMsgBytes implements p2p.MsgBytesFilter.
func (r *relay) FilterMsgBytes(channel byte, from p2p.Peer, message []byte) error {
	r.ended(from, channel, len(message))
	return nil
}

// AddPeer implements p2p.Reactor.
func (r *relay) AddPeer(peer p2p.Peer) {
	r.Reactor.AddPeer(peer)
	r.tell()
}

// RemovePeer implements p2p.Reactor.
func (r *relay) RemovePeer(peer p2p.Peer, reason any) {
	r.Reactor.RemovePeer(peer, reason)
	r.mu.Lock()
	delete(r.peers, peer.ID())
	r.mu.Unlock()
	r.tell()
}

// tell tells all peers, in a moment, who they are.
func (r *relay) tell() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.tells {
		return
	}
	r.tells = true
	time.AfterFunc(tellPause, func() {
		r.mu.Lock()
		r.tells = false
		r.mu.Unlock()
		r.sw.BroadcastAsync(p2p.Envelope{ChannelID: peersChannel, Message: &gogotypes.BytesValue{Value: r.list()}})
	})
}

// list returns the ids of the peers that others may hear of.
func (r *relay) list() (ids []byte) {
	for _, p := range r.sw.Peers().Copy() {
		id, err := hex.DecodeString(string(p.ID()))
		if err == nil && len(ids) < maxPeers*p2p.IDByteLength && !strings.Contains(r.private, string(p.ID())) {
			ids = append(ids, id...)
		}
	}
	return ids
}

// Receive implements p2p.Reactor.
func (r *relay) Receive(m p2p.Envelope) {
	switch message := m.Message.(type) {
	case *gogotypes.BytesValue:
		if err := r.told(m.Src, message.Value); err != nil {
			r.sw.StopPeerForError(m.Src, err)
		}
		return
	case *cmtcons.BlockPart:
		r.came(m.Src.ID(), message)
	case *cmtcons.NewValidBlock:
		if f, ok := m.Src.Get(followerKey).(*follower); ok {
			f.hurry(message)
		}
	}
	r.Reactor.Receive(m)
}

// told takes a peer's list of its peers.
func (r *relay) told(peer p2p.Peer, list []byte) error {
	if len(list)%p2p.IDByteLength != 0 || len(list) > maxPeers*p2p.IDByteLength {
		return fmt.Errorf("a list of peers of %d bytes, want at most %d ids of %d", len(list), maxPeers, p2p.IDByteLength)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if peer.IsRunning() { // else it would stay for ever: the switch stops a peer before RemovePeer
		r.peers[peer.ID()] = &peersOf{list: list}
	}
	return nil
}

// peersOf are the peers of a peer. A list is read when a part asks for it: who tells without end
// has the cost alone.
type peersOf struct {
	list []byte
	ids  map[p2p.ID]bool
}

// of returns the peers that a peer has told of, nil where it tells nothing. The caller holds the
// lock.
func (r *relay) of(peer p2p.ID) map[p2p.ID]bool {
	p := r.peers[peer]
	if p == nil {
		return nil
	}
	if p.ids == nil {
		p.ids = map[p2p.ID]bool{}
		for id := range slices.Chunk(p.list, p2p.IDByteLength) {
			p.ids[p2p.ID(hex.EncodeToString(id))] = true
		}
	}
	return p.ids
}

// proposes notes that this node signs a proposal.
func (r *relay) proposes(p *cmtproto.Proposal) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.own = turn{p.Height, p.Round}
}

// maxArrivals bounds the parts that are remembered: those of the largest block, in several rounds.
// Most that are beyond it come from peers that make them up.
const maxArrivals = 1 << 13

// came notes whom a part of the block that is to be decided came from first. Another height, which a
// peer may make up, would take its place.
func (r *relay) came(from p2p.ID, m *cmtcons.BlockPart) {
	s := r.state()
	if s == nil || m.Height != int64(s.Height)+1 || len(m.Part.Proof.LeafHash) != tmhash.Size {
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if m.Height != r.height || len(r.parts) >= maxArrivals {
		r.height, r.pause = m.Height, relayPause+carriage(s.Params, s.Participants)/2
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

// due returns when this node sends a part to a peer that has it not; the zero time is at once.
// Later is how much later than the first of those that are connected to the peer it does so: it
// sends at once too where that is nothing and the peer says that it misses the part.
func (r *relay) due(to p2p.ID, m *cmtcons.BlockPart) (at time.Time, later time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	came, ok := r.parts[partOf(m)]
	if !ok || m.Height != r.height || r.own == (turn{m.Height, m.Round}) || r.sends(came.from, to, m) {
		return at, 0
	}
	later = time.Duration(min(r.before(r.of(to), r.of(to), to, m)/relays, maxPauses)) * r.pause
	return came.at.Add(r.pause + later), later
}

// votedPause returns the pause of that name at the height of the parts.
func (r *relay) votedPause() time.Duration {
	r.mu.Lock()
	defer r.mu.Unlock()
	return votedPause + r.pause - relayPause
}

// sends reports whether this node sends a part at once that came from a peer. The caller holds the
// lock.
func (r *relay) sends(from, to p2p.ID, m *cmtcons.BlockPart) bool {
	theirs, its := r.of(from), r.of(to)
	if theirs == nil || its == nil {
		return true
	}
	if theirs[to] && its[from] {
		return false
	}
	return r.before(theirs, its, to, m) < relays
}

// before returns how many others of both sets of peers come before this node to send a part, by
// lot. Strangers, of whom there can be any number, draw none. The caller holds the lock.
func (r *relay) before(theirs, its map[p2p.ID]bool, to p2p.ID, m *cmtcons.BlockPart) (n int) {
	own := r.sw.NodeInfo().ID()
	rank := lot(own, m)
	for other := range theirs {
		if its[other] && other != own && other != to && lot(other, m) < rank && (r.trusts == nil || r.trusts(other)) {
			n++
		}
	}
	return n
}

// lot is a number by which nodes agree who sends a part.
func lot(id p2p.ID, m *cmtcons.BlockPart) uint64 {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %d %d %s", m.Height, m.Round, m.Part.Index, id)
	return h.Sum64()
}
