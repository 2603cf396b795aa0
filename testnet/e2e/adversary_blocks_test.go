//go:build e2e

package e2e

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cometbft/cometbft/blocksync"
	"github.com/cometbft/cometbft/consensus"
	"github.com/cometbft/cometbft/p2p"
	protosync "github.com/cometbft/cometbft/proto/tendermint/blocksync"
	protocons "github.com/cometbft/cometbft/proto/tendermint/consensus"
	"github.com/cometbft/cometbft/proto/tendermint/crypto"
	"github.com/cometbft/cometbft/proto/tendermint/libs/bits"
	protostate "github.com/cometbft/cometbft/proto/tendermint/statesync"
	prototypes "github.com/cometbft/cometbft/proto/tendermint/types"
	"github.com/cometbft/cometbft/statesync"
	"github.com/cosmos/gogoproto/proto"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/reactor"
	"github.com/spdl/spdl/testnet"
)

const blockChannel = byte(0x55)

// blockChannels are those of blocks, with what comes over them.
var blockChannels = map[byte]proto.Message{
	consensus.StateChannel: &protocons.Message{}, consensus.DataChannel: &protocons.Message{},
	blocksync.BlocksyncChannel: &protosync.Message{}, blockChannel: &reactor.BlockGossip{},
	statesync.SnapshotChannel: &protostate.Message{}, statesync.ChunkChannel: &protostate.Message{},
}

// heights is the height at which the nodes are, as an adversary last heard.
var heights atomic.Pointer[protocons.NewRoundStep]

// echo says of itself what a node says of itself, so that the nodes send it their blocks.
func echo(_ *adversary, m p2p.Envelope) {
	if s, ok := m.Message.(*protocons.NewRoundStep); ok {
		heights.Store(s)
		m.Src.TrySend(p2p.Envelope{ChannelID: consensus.StateChannel, Message: s})
	}
}

func tell(p p2p.Peer, channel byte, m proto.Message) bool {
	return p.Send(p2p.Envelope{ChannelID: channel, Message: m})
}

// offers says that it has a block at the height of the nodes and some heights above, whose
// transactions change makes.
func offers(above int64, change func(*reactor.CompactBlock)) func(*adversary, p2p.Peer) {
	return repeated(func(_ *adversary, p p2p.Peer) bool {
		at := heights.Load()
		if at == nil {
			time.Sleep(time.Millisecond)
			return true
		}
		m := &reactor.CompactBlock{Height: at.Height + above, Leaves: hashes(1), Literals: [][]byte{{1}, {2}},
			Hashes: hashes(1), Lengths: []uint32{1000}}
		change(m)
		return tell(p, blockChannel, &reactor.BlockGossip{Block: m})
	})
}

// falsify sends every compact block back to all with its transactions in another order, or with
// transactions that do not exist.
func falsify(v *adversary, m p2p.Envelope) {
	echo(v, m)
	g, ok := m.Message.(*reactor.BlockGossip)
	if !ok || g.Block == nil || len(g.Block.Hashes) < 64 {
		return
	}
	b := *g.Block
	if b.Height%2 == 0 {
		b.Hashes = hashes(len(b.Hashes) / 32)
	} else {
		b.Hashes = slices.Concat(b.Hashes[32:], b.Hashes[:32])
	}
	for _, p := range v.Switch.Peers().Copy() {
		p.TrySend(p2p.Envelope{ChannelID: blockChannel, Message: &reactor.BlockGossip{Block: &b}})
	}
}

// blockHarms are what a peer can do with blocks.
var blockHarms = []struct {
	name      string
	attack    func(*adversary, p2p.Peer)
	onMessage func(*adversary, p2p.Envelope)
}{
	{"offers blocks of transactions that do not exist", offers(0, func(*reactor.CompactBlock) {}), echo},
	{"offers blocks of other heights", offers(1<<40, func(*reactor.CompactBlock) {}), echo},
	{"offers large blocks", offers(0, func(m *reactor.CompactBlock) {
		m.Leaves, m.Hashes, m.Lengths = hashes(512), hashes(7000), make([]uint32, 7000)
		m.Lengths[0], m.Literals = 512<<16-2, make([][]byte, 7001)
		m.Literals[0], m.Literals[7000] = []byte{1}, []byte{2}
	}), echo},
	{"falsifies the blocks that it is sent", func(*adversary, p2p.Peer) {}, falsify},
	{"requests parts without end", repeated(func(_ *adversary, p p2p.Peer) bool {
		at := heights.Load()
		if at == nil {
			time.Sleep(time.Millisecond)
			return true
		}
		return tell(p, blockChannel, &reactor.BlockGossip{Want: &reactor.PartRequest{Height: at.Height, Total: 1,
			Root: hashes(1), Has: []uint64{0}}})
	}), echo},
	{"requests each block again and again", func(*adversary, p2p.Peer) {}, func(v *adversary, m p2p.Envelope) {
		echo(v, m)
		if b, ok := m.Message.(*protocons.NewValidBlock); ok {
			for range 100 {
				m.Src.TrySend(p2p.Envelope{ChannelID: blockChannel, Message: &reactor.BlockGossip{Want: &reactor.PartRequest{
					Height: b.Height, Total: b.BlockPartSetHeader.Total, Root: b.BlockPartSetHeader.Hash,
					Has: make([]uint64, len(b.BlockParts.Elems))}}})
			}
		}
	}},
	{"sends parts that are none", repeated(func(_ *adversary, p p2p.Peer) bool {
		at := heights.Load()
		if at == nil {
			time.Sleep(time.Millisecond)
			return true
		}
		return tell(p, consensus.DataChannel, &protocons.BlockPart{Height: at.Height, Round: at.Round, Part: prototypes.Part{
			Bytes: hashes(30), Proof: crypto.Proof{Total: 1, LeafHash: hashes(1)},
		}})
	}), echo},
	{"lacks all parts", func(*adversary, p2p.Peer) {}, func(v *adversary, m p2p.Envelope) {
		echo(v, m)
		if b, ok := m.Message.(*protocons.NewValidBlock); ok {
			for range 100 {
				b.BlockParts = &bits.BitArray{Bits: b.BlockParts.Bits, Elems: make([]uint64, len(b.BlockParts.Elems))}
				m.Src.TrySend(p2p.Envelope{ChannelID: consensus.StateChannel, Message: b})
			}
		}
	}},
	{"asks for blocks", repeated(func(_ *adversary, p p2p.Peer) bool {
		return tell(p, blocksync.BlocksyncChannel, &protosync.BlockRequest{Height: 3})
	}), nil},
	{"asks for blocks and reads none", repeated(func(_ *adversary, p p2p.Peer) bool {
		return tell(p, blocksync.BlocksyncChannel, &protosync.BlockRequest{Height: 3})
	}), func(v *adversary, _ p2p.Envelope) { <-v.quit }},
	{"asks for chunks", repeated(func(_ *adversary, p p2p.Peer) bool {
		return tell(p, statesync.SnapshotChannel, &protostate.SnapshotsRequest{}) && tell(p, statesync.ChunkChannel,
			&protostate.ChunkRequest{Height: 20, Format: 2})
	}), nil},
}

// TestHostileBlockPeers: a peer of four nodes does all that a peer can do on the channels of
// blocks. Rounds go on. A node that is started while peers with ever new ids say that the chain is
// much longer than it is trains again.
func TestHostileBlockPeers(t *testing.T) {
	const of = 3 * time.Second
	n := start(t, testnet.Manifest{Validators: 4, Strangers: true})
	n.reach(3)
	calm := n.spend(of)
	t.Logf("%-36s %+v", "calm", calm)
	for _, h := range blockHarms {
		end := n.attackAll(false, h.attack, h.onMessage, blockChannels)
		l := n.spend(of)
		end()
		t.Logf("%-36s %+v", h.name, l)
		require.Greater(t, l.rounds, 0, h.name)
		require.Less(t, l.rss, calm.rss+(150<<20), h.name)
	}
	end := n.attackAll(true, func(v *adversary, p p2p.Peer) {
		tell(p, blocksync.BlocksyncChannel, &protosync.StatusResponse{Height: 1 << 60})
		time.Sleep(300 * time.Millisecond)
		v.Switch.StopPeerGracefully(p)
	}, nil, blockChannels)
	defer end()
	time.Sleep(time.Second)
	require.NoError(t, n.Kill(3))
	require.NoError(t, n.Start(3))
	began := time.Now()
	n.eventually(func() bool {
		s, err := n.clients[3].RPC().Status(context.Background())
		return err == nil && !s.SyncInfo.CatchingUp
	}, "node 3 does not end its sync")
	t.Logf("node 3 was synced after %v", time.Since(began))
	n.reach(n.open(0) + 5)
	end()
	n.sameHashes()
}

// TestHostileOffers: peers of all nodes of a ring send every block back falsified, and answer no
// request. Rounds go on, at a quarter of the pace at least, as no round of consensus fails.
func TestHostileOffers(t *testing.T) {
	const of = 8 * time.Second
	n := start(t, testnet.Manifest{Validators: 7, Neighbours: 3, Strangers: true})
	n.reach(3)
	calm := n.spend(of)
	t.Logf("%-36s %+v", "calm", calm)
	var ends []func()
	for range 6 {
		ends = append(ends, n.attackAll(false, func(*adversary, p2p.Peer) {}, falsify, blockChannels))
	}
	time.Sleep(time.Second)
	l := n.spend(of)
	t.Logf("%-36s %+v", "six peers of all that falsify", l)
	require.Greater(t, l.rounds, calm.rounds/4)
	for _, end := range ends {
		end()
	}
	n.sameHashes()
}
