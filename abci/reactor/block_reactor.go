package reactor

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/cometbft/cometbft/consensus"
	cstypes "github.com/cometbft/cometbft/consensus/types"
	"github.com/cometbft/cometbft/crypto/tmhash"
	cmtnode "github.com/cometbft/cometbft/node"
	"github.com/cometbft/cometbft/p2p"
	cmtcons "github.com/cometbft/cometbft/proto/tendermint/consensus"
	"github.com/cometbft/cometbft/proto/tendermint/libs/bits"
	cmtproto "github.com/cometbft/cometbft/proto/tendermint/types"
	"github.com/cometbft/cometbft/types"

	"github.com/spdl/spdl/abci/limit"
	"github.com/spdl/spdl/abci/metrics"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/tx"
)

const (
	// blockChannel carries compact blocks and requests for parts. CometBFT does not use this id.
	// The channel has the priority of CometBFT's channel for parts.
	blockChannel  = byte(0x55)
	blockPriority = 10
	blockQueue    = 16
	// blockTick is the interval at which a node checks whether parts or transactions have arrived.
	// CometBFT's gossip has the same interval.
	blockTick = 5 * time.Millisecond
	// peerKey is the key under which a p2p.Peer holds its blockPeer (Peer.Set).
	peerKey = "spdl.blocks"
)

// BlockPool is the part of the application that BlockReactor needs.
type BlockPool interface {
	PoolTx(hash [32]byte) *tx.Tx
	HashOf(raw []byte) [32]byte
	State() *app.State
}

// BlockReactor is CometBFT's consensus reactor with another way to send blocks. CometBFT itself sends to each peer
// every part of a block that the peer lacks. Here a node that has all parts sends a compact block: the hashes of the
// block's transactions, which the peer has in its pool, and the bytes between the transactions. The peer rebuilds the
// parts, and requests the parts that it cannot rebuild. CometBFT sends the requested parts. It also sends all parts to
// a peer that does not have the channel or is at an earlier height.
//
// Only the transport changes: CometBFT verifies each part, and sends proposals and votes itself.
type BlockReactor struct {
	*consensus.Reactor
	limit.Messages
	sw         p2p.Switcher
	flood      bool // whether blocks are sent as CometBFT sends them
	pool       BlockPool
	isTrusted  func(p2p.ID) bool // whether a peer is a known node; nil means that every peer is known
	isExpected func(hash) bool   // whether a transaction is about to arrive at this node
	round      func() *cstypes.RoundState
	deliver    func(p2p.Envelope) // hands a message to consensus
	offers     offers
	metrics    *metrics.Metrics

	mu    sync.Mutex
	block *compactBlock // the last block of which this node had all parts, or nil
}

// NewBlockReactor returns a reactor for a pool. isTrusted reports whether a peer is a known node,
// and may be nil. isExpected reports whether a transaction is about to arrive at this node.
func NewBlockReactor(pool BlockPool, flood bool, isTrusted func(p2p.ID) bool, isExpected func([32]byte) bool,
	b limit.Messages, m *metrics.Metrics) *BlockReactor {
	return &BlockReactor{pool: pool, flood: flood, isTrusted: isTrusted,
		isExpected: func(h hash) bool { return isExpected(h) },
		Messages:   b, offers: offers{wake: make(wakeup, 1)}, metrics: m}
}

// Install is a node option that replaces the consensus reactor by this reactor. It does nothing if
// blocks are sent as CometBFT sends them.
func (r *BlockReactor) Install(n *cmtnode.Node) {
	if r.flood {
		return
	}
	r.Reactor = n.ConsensusReactor()
	r.deliver = r.Reactor.Receive
	var once sync.Once
	var state interface{ GetRoundState() *cstypes.RoundState }
	r.round = func() *cstypes.RoundState {
		once.Do(func() { // CometBFT gives no other access to its consensus, which exists once the node has been made
			if env, err := n.ConfigureRPC(); err == nil {
				state, _ = env.ConsensusState.(interface{ GetRoundState() *cstypes.RoundState })
			}
		})
		if state == nil {
			return new(cstypes.RoundState)
		}
		return state.GetRoundState()
	}
	cmtnode.CustomReactors(map[string]p2p.Reactor{"CONSENSUS": r})(n)
}

// SetSwitch implements p2p.Reactor.
func (r *BlockReactor) SetSwitch(s p2p.Switcher) {
	r.Reactor.SetSwitch(s)
	r.sw = s
}

// GetChannels implements p2p.Reactor.
func (r *BlockReactor) GetChannels() []*p2p.ChannelDescriptor {
	return append(r.Apply(r.Reactor.GetChannels()), &p2p.ChannelDescriptor{
		ID: blockChannel, Priority: blockPriority, SendQueueCapacity: blockQueue,
		RecvMessageCapacity: maxCompact + limit.SmallMessage, MessageType: &BlockGossip{},
	})
}

// Start implements service.Service.
func (r *BlockReactor) Start() error {
	err := r.Reactor.Start()
	if err == nil {
		go r.rebuild()
	}
	return err
}

// InitPeer implements p2p.Reactor. It passes a blockPeer to consensus in place of the peer, so that
// all messages from consensus to the peer pass through blockPeer.Send.
func (r *BlockReactor) InitPeer(peer p2p.Peer) p2p.Peer {
	info, ok := peer.NodeInfo().(p2p.DefaultNodeInfo)
	b := &blockPeer{Peer: peer, reactor: r, compact: ok && info.HasChannel(blockChannel)}
	r.Reactor.InitPeer(b)
	peer.Set(peerKey, b)
	return r.Track(peer)
}

// FilterMsgBytes implements p2p.MsgBytesFilter.
func (r *BlockReactor) FilterMsgBytes(channel byte, from p2p.Peer, message []byte) error {
	r.Finished(from, channel, len(message))
	return nil
}

// RemovePeer implements p2p.Reactor.
func (r *BlockReactor) RemovePeer(peer p2p.Peer, reason any) {
	r.Reactor.RemovePeer(peer, reason)
	r.offers.remove(peer)
}

// Receive implements p2p.Reactor.
func (r *BlockReactor) Receive(m p2p.Envelope) {
	message, ok := m.Message.(*BlockGossip)
	if !ok {
		r.Reactor.Receive(m)
		return
	}
	if r.WaitSync() {
		return
	}
	if err := r.onGossip(m.Src, message); err != nil {
		r.sw.StopPeerForError(m.Src, err)
	}
}

// onGossip handles a compact block or a request. It returns an error for a message that no honest node sends.
func (r *BlockReactor) onGossip(from p2p.Peer, m *BlockGossip) error {
	switch {
	case m.Block != nil && m.Want == nil:
		return r.onBlock(from, m.Block)
	case m.Want != nil && m.Block == nil:
		return r.onWant(from, m.Want)
	}
	return errors.New("a message that is neither a block nor a request")
}

// onBlock takes a compact block as an offer. It checks the height and the number of parts, and counts the peer's
// blocks, before it computes the Merkle tree. An honest peer sends a block at the height that this node told it, so at
// no height that is not open yet; at a lower height consensus needs no block any more.
//
// An honest peer may send the same block again: CometBFT's gossip forgets what a peer has when the
// peer tells of another consensus round or of a polka. In one consensus round it has at most two
// different blocks, the proposal and, if the proposer has signed two, the one with a polka, and at
// each height at most one more, which was decided in an earlier consensus round.
func (r *BlockReactor) onBlock(from p2p.Peer, m *CompactBlock) error {
	s := r.pool.State()
	if s == nil || m.Height <= int64(s.Height) {
		return nil
	}
	if open := int64(s.Height) + 1; m.Height > open+1 {
		return fmt.Errorf("%w: height %d, while %d is open", errCompact, m.Height, open)
	}
	if parts, most := len(m.Leaves)/tmhash.Size, maxParts(s.Progress.BlockBytes); parts > most {
		return fmt.Errorf("%w: %d parts, at most %d in blocks of %d bytes", errCompact, parts, most, s.Progress.BlockBytes)
	}
	if x := r.offers.again(from, m.Height, m.Leaves); x != nil {
		markWhole(from, x.block)
		return nil
	}
	if err := r.countBlock(from, m.Height); err != nil {
		return err
	}
	block, err := readCompact(m)
	if err != nil {
		return err
	}
	markWhole(from, block)
	r.offers.add(&offer{peer: from, block: block})
	return nil
}

// maxParts returns the max number of parts of a block of maxBytes bytes; at most 0 is CometBFT's own max.
func maxParts(maxBytes int64) int {
	if maxBytes <= 0 {
		return int(types.MaxBlockPartsCount)
	}
	return int((maxBytes-1)/int64(partBytes) + 1)
}

// countBlock counts a block that a peer offers, and rejects more different blocks of a height than an
// honest peer can have.
func (r *BlockReactor) countBlock(from p2p.Peer, height int64) error {
	p, ok := from.Get(peerKey).(*blockPeer)
	if !ok {
		return errors.New("a block of a peer without state")
	}
	p.mu.Lock()
	if height > p.offeredHeight {
		p.offeredHeight, p.offeredBlocks = height, 0
	}
	p.offeredBlocks++
	n := p.offeredBlocks
	p.mu.Unlock()
	most := 3
	if n > most {
		rs := r.round() // may wait for consensus
		if rs.Height > height {
			return nil
		}
		if rs.Height == height {
			most += 2 * int(rs.Round)
		}
	}
	if n > most {
		return fmt.Errorf("%w: %d different blocks at height %d, at most %d", errCompact, n, height, most)
	}
	return nil
}

// onWant makes CometBFT send the parts that a peer lacks. It passes the peer's list of parts to CometBFT in a
// NewValidBlock message, with which CometBFT nodes tell each other the parts that they have.
func (r *BlockReactor) onWant(from p2p.Peer, m *PartRequest) error {
	if m.Height < 1 || m.Total < 1 || m.Total > types.MaxBlockPartsCount || len(m.Has) != int(m.Total+63)/64 ||
		len(m.Root) != tmhash.Size {
		return fmt.Errorf("malformed request for a block of %d parts at height %d", m.Total, m.Height)
	}
	if p, ok := from.Get(peerKey).(*blockPeer); ok {
		p.mu.Lock()
		p.lastRequest = m
		p.mu.Unlock()
	}
	r.Reactor.Receive(p2p.Envelope{Src: from, ChannelID: consensus.StateChannel, Message: &cmtcons.NewValidBlock{
		Height: m.Height, BlockPartSetHeader: cmtproto.PartSetHeader{Total: m.Total, Hash: m.Root},
		BlockParts: &bits.BitArray{Bits: int64(m.Total), Elems: slices.Clone(m.Has)}, IsCommit: true,
	}})
	return nil
}

// blockOf returns the compact block to which a part belongs. It returns nil if the part itself must
// be sent, because its block is too large for a compact block, or is another block than the current
// block and the last block. isComplete is false while this node lacks parts of the block.
func (r *BlockReactor) blockOf(height int64, p *cmtproto.Part) (block *compactBlock, isComplete bool) {
	r.mu.Lock()
	kept := r.block
	r.mu.Unlock()
	if kept != nil && kept.hasPart(height, p) {
		return kept, true
	}
	rs := r.round() // may wait for consensus, so r.mu must not be locked here
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.block != nil && r.block.hasPart(height, p) {
		return r.block, true
	}
	parts := rs.ProposalBlockParts
	if parts == nil || rs.Height != height || int64(parts.Header().Total) != p.Proof.Total {
		return nil, true // CometBFT is helping a peer that is behind, or consensus has advanced
	}
	if own := parts.GetPart(int(p.Index)); own == nil || !bytes.Equal(own.Proof.LeafHash, p.Proof.LeafHash) {
		return nil, true
	}
	if !parts.BitArray().IsFull() || rs.ProposalBlock == nil {
		return nil, false
	}
	block, err := compact(height, parts, rs.ProposalBlock.Txs, func(raw []byte) hash { return r.pool.HashOf(raw) })
	if err != nil {
		r.Logger.Info("block sent in parts", "height", height, "err", err)
		return nil, true
	}
	r.block = block
	return block, true
}

// keep stores a compact block whose parts were all rebuilt.
func (r *BlockReactor) keep(b *compactBlock) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.block = b
}

// blockPeer wraps a peer for CometBFT's gossip of blocks.
type blockPeer struct {
	p2p.Peer
	reactor *BlockReactor
	compact bool // whether the peer has blockChannel

	mu            sync.Mutex
	lastRequest   *PartRequest // the peer's last request
	offeredHeight int64        // the greatest height of the blocks that the peer has offered
	offeredBlocks int          // the number of different blocks that the peer has offered since
}

// Send implements p2p.Peer. In place of a block's part it sends the compact block, from which the
// peer rebuilds all parts.
//
//   - It sends the part itself if the peer has requested the part, if the peer does not have the
//     channel of compact blocks, or if this node has no compact block with the part.
//   - While this node lacks parts of the block, Send sends nothing and returns false, and CometBFT
//     tries again.
func (p *blockPeer) Send(m p2p.Envelope) bool {
	part, ok := m.Message.(*cmtcons.BlockPart)
	if !ok || !p.compact {
		return p.Peer.Send(m)
	}
	if p.takeRequest(part) {
		return p.Peer.Send(m)
	}
	block, whole := p.reactor.blockOf(part.Height, &part.Part)
	switch {
	case !whole:
		time.Sleep(blockTick)
		return false
	case block == nil:
		return p.Peer.Send(m)
	}
	if !p.Peer.Send(p2p.Envelope{ChannelID: blockChannel, Message: &BlockGossip{Block: block.CompactBlock}}) {
		return false
	}
	markWhole(p, block)
	return true
}

// takeRequest reports whether the peer has requested a part that this node has not sent since the
// request. In that case it marks the part as sent, so that one request brings each part only once.
func (p *blockPeer) takeRequest(part *cmtcons.BlockPart) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	w, i := p.lastRequest, part.Part.Index
	if w == nil || w.Height != part.Height || int64(w.Total) != part.Part.Proof.Total || i >= w.Total ||
		w.Has[i/64]>>(i%64)&1 == 1 {
		return false
	}
	w.Has[i/64] |= 1 << (i % 64)
	return true
}

// markWhole records, in CometBFT's state of a peer, that the peer has all parts of a block.
func markWhole(peer p2p.Peer, b *compactBlock) {
	if s, ok := peer.Get(types.PeerStateKey).(*consensus.PeerState); ok {
		round := s.GetRoundState().Round
		for i := range int(b.header.Total) {
			s.SetHasProposalBlockPart(b.Height, round, i)
		}
	}
}
