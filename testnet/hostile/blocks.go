package hostile

import (
	"slices"
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

	"github.com/spdl/spdl/abci/reactor"
)

// blockChannel is the channel of reactor.BlockGossip.
const blockChannel = byte(0x55)

// BlockChannels maps the channels of blocks and snapshots to their message types.
var BlockChannels = map[byte]proto.Message{
	consensus.StateChannel: &protocons.Message{}, consensus.DataChannel: &protocons.Message{},
	blocksync.BlocksyncChannel: &protosync.Message{}, blockChannel: &reactor.BlockGossip{},
	statesync.SnapshotChannel: &protostate.Message{}, statesync.ChunkChannel: &protostate.Message{},
}

// Heights claims every second to be far above the chain's height.
var Heights = Behaviour{Name: "lies about heights", Also: BlockChannels,
	Attack: Repeated(func(_ *Peer, p p2p.Peer) bool {
		ok := sayAhead(p)
		time.Sleep(time.Second)
		return ok
	})}

// sayAhead tells a node that the peer is far above the chain's height.
func sayAhead(p p2p.Peer) bool {
	return Tell(p, consensus.StateChannel, &protocons.NewRoundStep{Height: 1 << 40, Step: 1})
}

// LongChain claims, each time with a new id, that the chain is much longer than it is.
var LongChain = Behaviour{Name: "says that the chain is long", Fresh: true, Also: BlockChannels,
	Attack: func(v *Peer, p p2p.Peer) {
		Tell(p, blocksync.BlocksyncChannel, &protosync.StatusResponse{Height: 1 << 60})
		time.Sleep(300 * time.Millisecond)
		v.Switch.StopPeerGracefully(p)
	}}

// Falsifying sends every received compact block to all nodes: with transactions that do not exist, in
// another order, or with its last two transactions, which are as long as each other, swapped.
var Falsifying = Behaviour{Name: "falsifies the blocks that it is sent", Also: BlockChannels, OnMessage: falsify}

func falsify(v *Peer, m p2p.Envelope) {
	echo(v, m)
	g, ok := m.Message.(*reactor.BlockGossip)
	if !ok || g.Block == nil || len(g.Block.Hashes) < 64 {
		return
	}
	b := *g.Block
	switch last := len(b.Hashes) - 32; b.Hashes[0] % 3 { // by the block: the heights of gradients may all be even
	case 0:
		b.Hashes = Hashes(len(b.Hashes) / 32)
	case 1:
		b.Hashes = slices.Concat(b.Hashes[32:], b.Hashes[:32])
	default:
		b.Hashes = slices.Concat(b.Hashes[:last-32], b.Hashes[last:], b.Hashes[last-32:last])
	}
	for _, p := range v.Switch.Peers().Copy() {
		p.TrySend(p2p.Envelope{ChannelID: blockChannel, Message: &reactor.BlockGossip{Block: &b}})
	}
}

// echo sends a node's height and round back to the node, so that the nodes send the peer their blocks.
func echo(v *Peer, m p2p.Envelope) {
	if s, ok := m.Message.(*protocons.NewRoundStep); ok {
		v.heights.Store(s)
		m.Src.TrySend(p2p.Envelope{ChannelID: consensus.StateChannel, Message: s})
	}
}

// atHeight returns an attack that calls once again and again with the height and round of the nodes.
func atHeight(once func(p p2p.Peer, at *protocons.NewRoundStep) bool) func(*Peer, p2p.Peer) {
	return Repeated(func(v *Peer, p p2p.Peer) bool {
		at := v.heights.Load()
		if at == nil {
			time.Sleep(time.Millisecond)
			return true
		}
		return once(p, at)
	})
}

// offers returns an attack that offers a compact block at the nodes' height plus above. The
// function change may change the compact block.
func offers(above int64, change func(*reactor.CompactBlock)) func(*Peer, p2p.Peer) {
	return atHeight(func(p p2p.Peer, at *protocons.NewRoundStep) bool {
		m := &reactor.CompactBlock{Height: at.Height + above, Leaves: Hashes(1), Literals: [][]byte{{1}, {2}},
			Hashes: Hashes(1), Lengths: []uint32{1000}}
		change(m)
		return Tell(p, blockChannel, &reactor.BlockGossip{Block: m})
	})
}

// asks requests the same block again and again.
var asks = Repeated(func(_ *Peer, p p2p.Peer) bool {
	return Tell(p, blocksync.BlocksyncChannel, &protosync.BlockRequest{Height: 3})
})

// Blocks are the attacks on the channels of blocks.
var Blocks = []Behaviour{
	{Name: "offers blocks of transactions that do not exist", Attack: offers(0, func(*reactor.CompactBlock) {}),
		OnMessage: echo, Also: BlockChannels},
	{Name: "offers blocks of other heights", Attack: offers(1<<40, func(*reactor.CompactBlock) {}), OnMessage: echo,
		Also: BlockChannels},
	{Name: "offers large blocks", Attack: offers(0, func(m *reactor.CompactBlock) {
		m.Leaves, m.Hashes, m.Lengths = Hashes(512), Hashes(7000), make([]uint32, 7000)
		m.Lengths[0], m.Literals = 512<<16-2, make([][]byte, 7001)
		m.Literals[0], m.Literals[7000] = []byte{1}, []byte{2}
	}), OnMessage: echo, Also: BlockChannels},
	Falsifying,
	{Name: "requests parts without end", Attack: atHeight(func(p p2p.Peer, at *protocons.NewRoundStep) bool {
		return Tell(p, blockChannel, &reactor.BlockGossip{Want: &reactor.PartRequest{Height: at.Height, Total: 1,
			Root: Hashes(1), Has: []uint64{0}}})
	}), OnMessage: echo, Also: BlockChannels},
	{Name: "requests each block again and again", OnMessage: func(v *Peer, m p2p.Envelope) {
		echo(v, m)
		if b, ok := m.Message.(*protocons.NewValidBlock); ok {
			for range 100 {
				m.Src.TrySend(p2p.Envelope{ChannelID: blockChannel, Message: &reactor.BlockGossip{Want: &reactor.PartRequest{
					Height: b.Height, Total: b.BlockPartSetHeader.Total, Root: b.BlockPartSetHeader.Hash,
					Has: make([]uint64, len(b.BlockParts.Elems))}}})
			}
		}
	}, Also: BlockChannels},
	{Name: "sends parts that are none", Attack: atHeight(func(p p2p.Peer, at *protocons.NewRoundStep) bool {
		return Tell(p, consensus.DataChannel, &protocons.BlockPart{Height: at.Height, Round: at.Round, Part: prototypes.Part{
			Bytes: Hashes(30), Proof: crypto.Proof{Total: 1, LeafHash: Hashes(1)},
		}})
	}), OnMessage: echo, Also: BlockChannels},
	{Name: "lacks all parts", OnMessage: func(v *Peer, m p2p.Envelope) {
		echo(v, m)
		if b, ok := m.Message.(*protocons.NewValidBlock); ok {
			for range 100 {
				b.BlockParts = &bits.BitArray{Bits: b.BlockParts.Bits, Elems: make([]uint64, len(b.BlockParts.Elems))}
				m.Src.TrySend(p2p.Envelope{ChannelID: consensus.StateChannel, Message: b})
			}
		}
	}, Also: BlockChannels},
	{Name: "asks for blocks", Attack: asks, Also: BlockChannels},
	{Name: "asks for blocks and reads none", Attack: asks, OnMessage: Deaf.OnMessage, Also: BlockChannels},
	{Name: "asks for chunks", Attack: Repeated(func(_ *Peer, p p2p.Peer) bool {
		return Tell(p, statesync.SnapshotChannel, &protostate.SnapshotsRequest{}) &&
			Tell(p, statesync.ChunkChannel, &protostate.ChunkRequest{Height: 20, Format: 2})
	}), Also: BlockChannels},
}
