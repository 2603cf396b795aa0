package reactor

import (
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cometbft/cometbft/consensus"
	cstypes "github.com/cometbft/cometbft/consensus/types"
	"github.com/cometbft/cometbft/p2p"
	"github.com/cometbft/cometbft/p2p/mock"
	cmtcons "github.com/cometbft/cometbft/proto/tendermint/consensus"
	"github.com/cometbft/cometbft/types"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/limit"
	"github.com/spdl/spdl/abci/metrics"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/tx"
)

// neighbour is a peer that records what it receives.
type neighbour struct {
	*mock.Peer
	mu    sync.Mutex
	got   []p2p.Envelope
	plain bool // whether the peer lacks the channel of blocks
}

func (n *neighbour) NodeInfo() p2p.NodeInfo {
	if n.plain {
		return p2p.DefaultNodeInfo{}
	}
	return p2p.DefaultNodeInfo{Channels: []byte{blockChannel}}
}

func (n *neighbour) Send(m p2p.Envelope) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.got = append(n.got, m)
	return true
}

func (n *neighbour) TrySend(m p2p.Envelope) bool { return n.Send(m) }

// received counts the parts, compact blocks and requests that the peer was sent.
func (n *neighbour) received() (parts, blocks int) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, m := range n.got {
		switch m := m.Message.(type) {
		case *cmtcons.BlockPart:
			parts++
		case *BlockGossip:
			if m.Block != nil {
				blocks++
			}
		}
	}
	return parts, blocks
}

func (n *neighbour) wants() (all []*PartRequest) {
	n.mu.Lock()
	defer n.mu.Unlock()
	for _, m := range n.got {
		if g, ok := m.Message.(*BlockGossip); ok && g.Want != nil {
			all = append(all, g.Want)
		}
	}
	return all
}

// fakeSwitch records the peers that were stopped.
type fakeSwitch struct {
	p2p.Switcher
	stopped map[p2p.ID]error
}

func (s fakeSwitch) StopPeerForError(p p2p.Peer, reason any) { s.stopped[p.ID()], _ = reason.(error) }

// collector is a reactor whose consensus collects the parts of a block, with its peers and a pool.
type collector struct {
	*testing.T
	*BlockReactor
	peers   []*neighbour
	sw      fakeSwitch
	held    map[hash]*tx.Tx
	rs      *cstypes.RoundState
	whole   *types.PartSet // the block's parts
	compact *CompactBlock
	state   assembly

	registry *prometheus.Registry
}

func (c *collector) PoolTx(h [32]byte) *tx.Tx   { return c.held[h] }
func (c *collector) HashOf(raw []byte) [32]byte { return txHash(raw) }
func (c *collector) State() *app.State {
	return &app.State{Height: uint64(c.rs.Height - 1), Progress: app.Progress{BlockBytes: c.whole.ByteSize()}}
}
func (c *collector) offer(p *neighbour, m *CompactBlock) {
	require.NoError(c, c.onGossip(p, &BlockGossip{Block: sent(c, m)}))
}

// until lets the reactor work until the function holds returns true.
func (c *collector) until(holds func() bool) {
	for end := time.Now().Add(time.Minute); !holds(); time.Sleep(blockTick) {
		require.True(c, time.Now().Before(end), "it never holds")
		c.step(&c.state)
	}
}

// counted returns the metric that counts the parts that the node got in the given way.
func (c *collector) counted(how string) float64 {
	families, err := c.registry.Gather()
	require.NoError(c, err)
	for _, family := range families {
		if family.GetName() == "spdl_block_parts_total" {
			for _, metric := range family.Metric {
				if metric.Label[1].GetValue() == how {
					return metric.Counter.GetValue()
				}
			}
		}
	}
	c.Fatalf("no count of parts %s", how)
	return 0
}

func (c *collector) complete() bool { return c.rs.ProposalBlockParts.BitArray().IsFull() }

func collecting(t *testing.T, peers int, lengths ...int) *collector {
	block, whole, held := blockWith(lengths...)
	made, err := compact(proposed, whole, block.Txs, txHash)
	require.NoError(t, err)
	c := &collector{T: t, sw: fakeSwitch{stopped: map[p2p.ID]error{}}, held: held, whole: whole,
		compact: made.CompactBlock, registry: prometheus.NewRegistry(),
		rs: &cstypes.RoundState{Height: proposed, ProposalBlockParts: types.NewPartSetFromHeader(whole.Header())}}
	c.BlockReactor = NewBlockReactor(c, false, nil, func([32]byte) bool { return false }, limit.Messages{},
		metrics.New(c.registry, "c"))
	c.BlockReactor.sw, c.round = c.sw, func() *cstypes.RoundState { rs := *c.rs; return &rs }
	c.Reactor = consensus.NewReactor(new(consensus.State), false)
	c.deliver = func(m p2p.Envelope) {
		part, err := types.PartFromProto(&m.Message.(*cmtcons.BlockPart).Part)
		require.NoError(t, err)
		_, err = c.rs.ProposalBlockParts.AddPart(part)
		require.NoError(t, err)
	}
	for range peers {
		p := &neighbour{Peer: mock.NewPeer(nil)}
		t.Cleanup(func() { _ = p.Stop() })
		c.InitPeer(p)
		c.peers = append(c.peers, p)
	}
	return c
}

// part returns a part as CometBFT sends it.
func (c *collector) part(i int) p2p.Envelope {
	p, err := c.whole.GetPart(i).ToProto()
	require.NoError(c, err)
	return p2p.Envelope{ChannelID: consensus.DataChannel, Message: &cmtcons.BlockPart{Height: proposed, Part: *p}}
}

// TestBlocksAreRebuilt: a node hands the parts of an offered block to consensus, and requests only
// the parts with bytes of a transaction that its pool lacks. It needs no answer if the transaction
// arrives.
func TestBlocksAreRebuilt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := collecting(t, 2, partBytes, 3*partBytes, 500)
		c.offer(c.peers[0], c.compact)
		c.until(c.complete)
		require.Empty(t, c.peers[0].wants())
		require.NotNil(t, c.block, "it is passed on as it came")
		require.Equal(t, 5., c.counted(metrics.PartsRebuilt))
		require.Zero(t, c.counted(metrics.PartsRequested))

		c = collecting(t, 2, partBytes, 3*partBytes, 500)
		late := c.held[hash(c.compact.Hashes[32:])]
		delete(c.held, late.Hash)
		c.offer(c.peers[0], c.compact)
		c.until(func() bool { return len(c.peers[0].wants()) == 1 })
		want := c.peers[0].wants()[0]
		require.EqualValues(t, 5, want.Total)
		require.Equal(t, []uint64{0b00001}, want.Has)
		require.Empty(t, c.peers[1].wants(), "it has not offered the block")
		require.Equal(t, 4., c.counted(metrics.PartsRequested))
		c.held[late.Hash] = late
		c.until(c.complete)
		require.Empty(t, c.sw.stopped)
	})
}

// TestConsensusStartsOver: consensus may drop the parts that it was given, and collect them again
// later, after it had them all and the peer has offered the block once more. Nothing is lost.
func TestConsensusStartsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := collecting(t, 1, partBytes, 500)
		c.rs.ProposalBlockParts = nil // the proposal comes later than the block
		c.offer(c.peers[0], c.compact)
		require.True(t, c.step(&c.state))
		take := c.deliver
		c.deliver = func(p2p.Envelope) {}
		c.rs.ProposalBlockParts = types.NewPartSetFromHeader(c.whole.Header())
		require.True(t, c.step(&c.state))
		require.Zero(t, c.rs.ProposalBlockParts.Count())
		c.deliver = take
		c.rs.ProposalBlockParts = types.NewPartSetFromHeader(c.whole.Header())
		c.until(c.complete)
		require.False(t, c.step(&c.state), "it sleeps until it is roused")
		<-c.offers.wake
		c.rs.ProposalBlockParts = types.NewPartSetFromHeader(c.whole.Header()) // another consensus round
		c.offer(c.peers[0], c.compact)
		require.Len(t, c.offers.wake, 1, "what was sent again is looked at again")
		c.until(c.complete)
		c.rs.Height++
		require.False(t, c.step(&c.state))
		require.Empty(t, c.offers.list, "of another height")
	})
}

// TestLiarsCostNoBlock: peers offer a block with transactions that do not exist, in the wrong
// order, and at the next height, before an honest peer offers it. The block is rebuilt from the
// honest offer at once, and the peers whose parts are false are disconnected. Only the last offer
// of each peer is kept.
func TestLiarsCostNoBlock(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := collecting(t, 4, partBytes, 3*partBytes, 3*partBytes)
		made := func(change func(*CompactBlock)) *CompactBlock {
			m := sent(t, c.compact)
			change(m)
			return m
		}
		c.offer(c.peers[0], made(func(m *CompactBlock) { m.Hashes = make([]byte, len(m.Hashes)) }))
		c.offer(c.peers[1], made(func(m *CompactBlock) { copy(m.Hashes[32:64], m.Hashes[64:]) }))
		for i := range 3 {
			c.offer(c.peers[2], made(func(m *CompactBlock) { m.Height++; m.Leaves[0] = byte(i) }))
		}
		require.Len(t, c.offers.list, 3)
		c.offer(c.peers[3], c.compact)
		start := time.Now()
		c.until(c.complete)
		require.LessOrEqual(t, time.Since(start), 4*blockTick)
		require.Len(t, c.sw.stopped, 1)
		require.ErrorIs(t, c.sw.stopped[c.peers[1].ID()], errForged)
		for _, m := range []*BlockGossip{{}, {Block: c.compact, Want: &PartRequest{}},
			{Block: &CompactBlock{Height: proposed}}, {Want: &PartRequest{}},
			{Want: &PartRequest{Height: 5, Total: 1 << 31, Root: make([]byte, 32)}},
			{Want: &PartRequest{Height: 5, Total: 1, Root: make([]byte, 32), Has: make([]uint64, 9)}}} {
			require.Error(t, c.onGossip(c.peers[3], m))
		}
	})
}

// TestBlocksAreBounded: a node computes a Merkle tree for a few different blocks of a peer, at the open height and
// the next, of no more parts than a block may have. The others cost a comparison, or their sender the connection. A
// block that a peer sends again costs nothing: CometBFT's gossip forgets what it has sent in each consensus round.
func TestBlocksAreBounded(t *testing.T) {
	c := collecting(t, 3, partBytes, 500)
	made := func(height int64, number byte) *CompactBlock {
		m := sent(t, c.compact)
		m.Height, m.Leaves[0] = height, number
		return m
	}
	offer := func(p int, m *CompactBlock) error { return c.onGossip(c.peers[p], &BlockGossip{Block: m}) }
	large := &CompactBlock{Height: proposed, Leaves: make([]byte, 3*32), Literals: [][]byte{make([]byte, 3*partBytes)}}
	require.ErrorContains(t, offer(0, large), "3 parts, at most 2 in blocks of")
	require.ErrorContains(t, offer(0, made(proposed+2, 0)), "while 5 is open")
	malformed := made(proposed-1, 0)
	malformed.Lengths = nil
	require.NoError(t, offer(0, malformed), "late: its form is not looked at")
	require.Empty(t, c.offers.list)

	c.rs.Round = 2
	for i := range byte(7) { // two in each consensus round, and one of an earlier one that is decided
		for range 100 {
			require.NoError(t, offer(0, made(proposed, i)))
		}
	}
	require.ErrorContains(t, offer(0, made(proposed, 7)), "8 different blocks at height 5, at most 7")
	for i := range byte(3) {
		require.NoError(t, offer(1, made(proposed+1, i)))
	}
	require.ErrorContains(t, offer(1, made(proposed+1, 3)), "at most 3")
	c.rs.Round = 0
	require.Error(t, offer(1, made(proposed, 0)), "the heights in turn")
	c.rs.Height++
	require.NoError(t, offer(1, made(proposed+2, 0)))
	require.NoError(t, offer(0, made(proposed+1, 0)))
}

// TestOffersOfTheNextHeight: consensus goes on to the next height, of which there are offers, between step's look at
// consensus and its look at the offers. They stay.
func TestOffersOfTheNextHeight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := collecting(t, 2, partBytes, 500)
		now := c.round
		c.round = func() *cstypes.RoundState {
			rs := now()
			rs.Height--
			return rs
		}
		c.offer(c.peers[0], c.compact)
		require.True(t, c.step(&c.state), "there is an offer, so step is called again")
		c.round = now
		c.until(c.complete)
	})
}

// TestPartsGoByReference: once this node has the whole block, it sends a peer the compact block in
// place of the first part. It sends each part that the peer requests once. A peer without the
// channel, or at an earlier height, gets every part.
func TestPartsGoByReference(t *testing.T) {
	c := collecting(t, 2, partBytes, 500)
	peer, plain := c.peers[0], &neighbour{Peer: mock.NewPeer(nil), plain: true}
	c.InitPeer(plain)
	defer func() { _ = plain.Stop() }()
	blocks := peer.Get(peerKey).(*blockPeer)
	first, err := types.PartFromProto(&c.part(0).Message.(*cmtcons.BlockPart).Part)
	require.NoError(t, err)
	_, err = c.rs.ProposalBlockParts.AddPart(first)
	require.NoError(t, err)
	require.False(t, blocks.Send(c.part(0)), "CometBFT tries again")
	block, whole, _ := blockWith(partBytes, 500)
	c.rs.ProposalBlockParts, c.rs.ProposalBlock = whole, block
	require.True(t, blocks.Send(c.part(0)))
	parts, compact := peer.received()
	require.Equal(t, []int{0, 1}, []int{parts, compact})

	require.NoError(t, c.onGossip(peer, &BlockGossip{Want: &PartRequest{Height: proposed, Total: 2, Root: whole.Hash(),
		Has: []uint64{1}}}))
	require.True(t, blocks.Send(c.part(1)))
	parts, compact = peer.received()
	require.Equal(t, []int{1, 1}, []int{parts, compact})
	require.True(t, blocks.Send(c.part(1)))
	parts, compact = peer.received()
	require.Equal(t, []int{1, 2}, []int{parts, compact}, "each once")

	require.True(t, plain.Get(peerKey).(*blockPeer).Send(c.part(0)))
	parts, compact = plain.received()
	require.Equal(t, []int{1, 0}, []int{parts, compact})
	old := c.part(0)
	old.Message.(*cmtcons.BlockPart).Height--
	require.True(t, blocks.Send(old))
	other := c.part(0)
	other.Message.(*cmtcons.BlockPart).Part.Proof.LeafHash = make([]byte, 32)
	require.True(t, blocks.Send(other), "of another block")
	parts, _ = peer.received()
	require.Equal(t, 3, parts)
}
