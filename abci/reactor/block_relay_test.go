package reactor

import (
	"bytes"
	"encoding/hex"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cometbft/cometbft/consensus"
	cstypes "github.com/cometbft/cometbft/consensus/types"
	"github.com/cometbft/cometbft/p2p"
	"github.com/cometbft/cometbft/p2p/mock"
	cmtcons "github.com/cometbft/cometbft/proto/tendermint/consensus"
	"github.com/cometbft/cometbft/proto/tendermint/crypto"
	"github.com/cometbft/cometbft/proto/tendermint/libs/bits"
	cmtproto "github.com/cometbft/cometbft/proto/tendermint/types"
	"github.com/cometbft/cometbft/types"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/limit"
	"github.com/spdl/spdl/app"
)

// decided is the height of the nodes of these tests, and proposed the height of the block.
const decided, proposed = 4, 5

// neighbour is a peer that records the parts that it receives.
type neighbour struct {
	*mock.Peer
	mu    sync.Mutex
	fails int // number of sends that fail
	parts []uint32
	times []time.Time
}

func (n *neighbour) Send(m p2p.Envelope) bool {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.fails > 0 {
		n.fails--
		return false
	}
	if p, ok := m.Message.(*cmtcons.BlockPart); ok {
		n.parts, n.times = append(n.parts, p.Part.Index), append(n.times, time.Now())
	}
	return true
}

func (n *neighbour) got() []uint32 {
	n.mu.Lock()
	defer n.mu.Unlock()
	return append([]uint32(nil), n.parts...)
}

// fakeSwitch holds the peers.
type fakeSwitch struct {
	p2p.Switcher
	id    p2p.ID
	peers *p2p.PeerSet
}

func (s fakeSwitch) Peers() p2p.IPeerSet           { return s.peers }
func (s fakeSwitch) BroadcastAsync(e p2p.Envelope) {}
func (s fakeSwitch) NodeInfo() p2p.NodeInfo        { return p2p.DefaultNodeInfo{DefaultNodeID: s.id} }

// relaying is a relay with peers, each of which has announced all other peers and the node as its
// peers.
type relaying struct {
	*testing.T
	*BlockRelay
	peers []*neighbour
}

func relayingTo(t *testing.T, n int) *relaying {
	r := &relaying{T: t, BlockRelay: NewBlockRelay(false, "", func() *app.State { return &app.State{Height: decided} },
		nil, limit.Messages{})}
	own := mock.NewPeer(nil)
	r.sw = fakeSwitch{id: own.ID(), peers: p2p.NewPeerSet()}
	r.Reactor = consensus.NewReactor(new(consensus.State), false)
	all := []p2p.ID{own.ID()}
	for range n {
		peer := &neighbour{Peer: mock.NewPeer(nil)}
		t.Cleanup(func() { _ = peer.Stop() })
		require.NoError(t, r.sw.Peers().(*p2p.PeerSet).Add(peer))
		r.InitPeer(peer)
		r.peers, all = append(r.peers, peer), append(all, peer.ID())
		r.says(peer, &consensus.NewRoundStepMessage{Height: proposed, Step: cstypes.RoundStepPropose, LastCommitRound: 0})
	}
	for _, peer := range r.peers {
		r.knows(peer, all...)
	}
	return r
}

// knows makes a peer announce its peers.
func (r *relaying) knows(peer *neighbour, ids ...p2p.ID) {
	var list []byte
	for _, id := range ids {
		raw, err := hex.DecodeString(string(id))
		require.NoError(r, err)
		list = append(list, raw...)
	}
	require.NoError(r, r.onPeerList(peer, list))
}

// says makes a peer announce its height, round and step.
func (r *relaying) says(peer *neighbour, m *consensus.NewRoundStepMessage) {
	peer.Get(types.PeerStateKey).(*consensus.PeerState).ApplyNewRoundStepMessage(m)
}

// offers gossips a part to a peer as CometBFT does, which then counts it as sent.
func (r *relaying) offers(peer *neighbour, p *cmtcons.BlockPart) {
	require.True(r, peer.Get(schedulerKey).(*partScheduler).Send(p2p.Envelope{ChannelID: consensus.DataChannel,
		Message: p}))
}

func partNumber(i uint32) *cmtcons.BlockPart {
	return &cmtcons.BlockPart{Height: proposed, Part: cmtproto.Part{
		Index: i, Bytes: []byte{1}, Proof: crypto.Proof{LeafHash: bytes.Repeat([]byte{byte(i)}, 32)},
	}}
}

// TestPartsAreLeftToWhoSendsThem: a part that came from a peer is not sent to the peers of that
// peer while they may get it from there. After relayPause it goes to the peers that still lack it,
// but not yet to those that have voted, nor to those that have moved on.
func TestPartsAreLeftToWhoSendsThem(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := relayingTo(t, 4)
		source, lacks, votes, beyond := r.peers[0], r.peers[1], r.peers[2], r.peers[3]
		lacks.fails = 1
		start := time.Now()
		r.onPart(source.ID(), partNumber(1))
		for _, peer := range r.peers[1:] {
			r.offers(peer, partNumber(1))
			require.Empty(t, peer.got())
		}
		r.says(votes, &consensus.NewRoundStepMessage{Height: proposed, Step: cstypes.RoundStepPrevote})
		r.says(beyond, &consensus.NewRoundStepMessage{Height: proposed + 1, Step: cstypes.RoundStepNewHeight})
		require.Eventually(t, func() bool { return len(lacks.got()) == 1 }, 10*time.Second, time.Millisecond,
			"also where a sending fails")
		require.GreaterOrEqual(t, lacks.times[0].Sub(start), relayPause)
		time.Sleep(relayPause)
		require.Empty(t, votes.got())
		require.Empty(t, beyond.got())
		require.Len(t, lacks.got(), 1)
	})
}

// TestPartsThatGoAtOnce: these parts go at once: those of the node's own proposal, whichever peer
// echoes them; those of decided blocks; those that no peer sent; and those for a peer that
// announces no peers.
func TestPartsThatGoAtOnce(t *testing.T) {
	r := relayingTo(t, 3)
	source, peer, silent := r.peers[0], r.peers[1], r.peers[2]
	r.offers(peer, partNumber(0))
	require.Equal(t, []uint32{0}, peer.got(), "from nobody")

	r.onPart(source.ID(), partNumber(1))
	r.mu.Lock()
	delete(r.BlockRelay.peers, silent.ID())
	r.mu.Unlock()
	r.offers(silent, partNumber(1))
	require.Equal(t, []uint32{1}, silent.got())

	old := partNumber(2)
	old.Height = decided
	r.onPart(source.ID(), old)
	r.offers(peer, old)
	require.Equal(t, []uint32{0, 2}, peer.got())

	r.OnProposal(&cmtproto.Proposal{Height: proposed})
	r.onPart(source.ID(), partNumber(3))
	r.offers(peer, partNumber(3))
	require.Equal(t, []uint32{0, 2, 3}, peer.got())
}

// TestWhoHasTheBlockLateSendsItNotToWhoVoted: nearly all peers that voted have the block. A part
// that reaches this node only after relayPause, as on busy nodes, waits for them like a part that
// arrived in time.
func TestWhoHasTheBlockLateSendsItNotToWhoVoted(t *testing.T) {
	r := relayingTo(t, 3)
	source, votes, lacks := r.peers[0], r.peers[1], r.peers[2]
	r.says(votes, &consensus.NewRoundStepMessage{Height: proposed, Step: cstypes.RoundStepPrevote})
	r.onPart(source.ID(), partNumber(1))
	time.Sleep(relayPause)
	start := time.Now()
	r.offers(votes, partNumber(1))
	r.offers(lacks, partNumber(1))
	require.Eventually(t, func() bool { return len(lacks.got()) == 1 }, 10*time.Second, time.Millisecond)
	require.Eventually(t, func() bool { return len(votes.got()) == 1 }, 10*time.Second, time.Millisecond,
		"it may have given the block up")
	require.GreaterOrEqual(t, votes.times[0].Sub(start), votedPause)
}

// TestPartsThatNobodyElseSends: if the source of a part is not connected to a peer, exactly two of
// the nodes that are connected to both send it at once.
func TestPartsThatNobodyElseSends(t *testing.T) {
	for index := range uint32(20) {
		r := relayingTo(t, 8)
		source, far := r.peers[0], r.peers[1]
		own := r.sw.NodeInfo().ID()
		between := []p2p.ID{own}
		for _, peer := range r.peers[2:] {
			between = append(between, peer.ID())
		}
		r.knows(source, between...)
		r.knows(far, between...)
		atOnce := 0
		for _, id := range between {
			r.sw = fakeSwitch{id: id, peers: r.sw.Peers().(*p2p.PeerSet)}
			r.mu.Lock()
			if r.sendsNow(source.ID(), far.ID(), partNumber(index)) {
				atOnce++
			}
			r.mu.Unlock()
		}
		require.Equal(t, relays, atOnce)
	}
}

// TestWhoLacksAPartIsSentItByAFewAtATime: of ten nodes with a part, two send it after relayPause to
// a peer that still lacks it, or at once to a peer that asks. Two more send it after another pause,
// and all others after a third.
func TestWhoLacksAPartIsSentItByAFewAtATime(t *testing.T) {
	r := relayingTo(t, 10)
	source, peer := r.peers[0], r.peers[1]
	all := []p2p.ID{r.sw.NodeInfo().ID(), source.ID()}
	for _, other := range r.peers[2:] {
		all = append(all, other.ID())
	}
	r.onPart(source.ID(), partNumber(1))
	came := r.BlockRelay.parts[partOf(partNumber(1))].at
	stages := map[time.Duration]int{}
	for _, id := range all {
		r.sw = fakeSwitch{id: id, peers: r.sw.Peers().(*p2p.PeerSet)}
		at, later := r.sendTime(peer.ID(), partNumber(1))
		require.Equal(t, came.Add(r.pause+later), at)
		stages[later/r.pause]++
	}
	require.Equal(t, map[time.Duration]int{0: relays, 1: relays, maxPauses: 10 - 2*relays}, stages)
}

// TestWhoMissesPartsWaitsForNobody: a peer that announces its parts gets the missing ones at once,
// deferred ones included, and none that it has.
func TestWhoMissesPartsWaitsForNobody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := relayingTo(t, 2)
		source, peer := r.peers[0], r.peers[1]
		for i := range uint32(2) {
			r.onPart(source.ID(), partNumber(i))
			r.offers(peer, partNumber(i))
		}
		require.Empty(t, peer.got())
		peer.Get(schedulerKey).(*partScheduler).flushHeight(&cmtcons.NewValidBlock{
			Height: proposed, BlockParts: &bits.BitArray{Bits: 2, Elems: []uint64{1}},
		})
		r.offers(peer, partNumber(1)) // CometBFT believes the peer's announcement
		require.Equal(t, []uint32{1}, peer.got())
		time.Sleep(2 * relayPause)
		require.NotContains(t, peer.got(), uint32(0))
	})
}

// TestNoPartIsLost: CometBFT never sends a part again that it counts as sent to a peer at the same
// height and round. A peer that gave a block up still gets its parts, because it may have to commit
// it. So does a peer that announces a missing part while CometBFT marks it as sent, or announces it
// for another round.
func TestNoPartIsLost(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r := relayingTo(t, 4)
		source, commits, lacks, other := r.peers[0], r.peers[1], r.peers[2], r.peers[3]
		r.onPart(source.ID(), partNumber(1))
		for _, peer := range r.peers[1:] {
			r.offers(peer, partNumber(1))
		}
		r.says(commits, &consensus.NewRoundStepMessage{Height: proposed, Step: cstypes.RoundStepCommit})
		lacks.Get(schedulerKey).(*partScheduler).flushHeight(&cmtcons.NewValidBlock{
			Height: proposed, BlockParts: &bits.BitArray{Bits: 2, Elems: []uint64{1}},
		})
		other.Get(schedulerKey).(*partScheduler).flushHeight(&cmtcons.NewValidBlock{
			Height: proposed, Round: 1, BlockParts: &bits.BitArray{Bits: 2, Elems: []uint64{3}},
		})
		for _, peer := range r.peers[1:] {
			require.Eventually(t, func() bool { return len(peer.got()) == 1 }, 10*time.Second, time.Millisecond)
		}
	})
}

// TestMadeUpPartsAreForgotten: parts of other heights do not displace those of the block. The
// numbers of recorded parts and peers are bounded. A private peer is announced to no peer.
func TestMadeUpPartsAreForgotten(t *testing.T) {
	r := relayingTo(t, 2)
	source, peer := r.peers[0], r.peers[1]
	r.onPart(source.ID(), partNumber(1))
	far := partNumber(1)
	far.Height = 1 << 60
	r.onPart(peer.ID(), far)
	bad := partNumber(7)
	bad.Part.Proof.LeafHash = make([]byte, 1<<10)
	r.onPart(peer.ID(), bad)
	at, _ := r.sendTime(peer.ID(), partNumber(1))
	require.False(t, at.IsZero())
	for i := range uint32(2 * maxArrivals) {
		made := partNumber(1)
		made.Part.Index = i
		r.onPart(peer.ID(), made)
	}
	require.LessOrEqual(t, len(r.parts), maxArrivals)
	r.private = "other," + string(peer.ID())
	raw, err := hex.DecodeString(string(source.ID()))
	require.NoError(t, err)
	require.Equal(t, raw, r.peerList(), "without the private one")
	require.Error(t, r.onPeerList(peer, make([]byte, p2p.IDByteLength+1)))
	require.Error(t, r.onPeerList(peer, make([]byte, p2p.IDByteLength*(maxPeers+1))))
	require.NoError(t, source.Stop())
	r.RemovePeer(source, nil)
	require.NoError(t, r.onPeerList(source, nil), "the switch has it still")
	require.Len(t, r.BlockRelay.peers, 1)
}
