package node

import (
	"github.com/cometbft/cometbft/blocksync"
	"github.com/cometbft/cometbft/config"
	"github.com/cometbft/cometbft/consensus"
	"github.com/cometbft/cometbft/evidence"
	"github.com/cometbft/cometbft/mempool"
	cmtnode "github.com/cometbft/cometbft/node"
	"github.com/cometbft/cometbft/p2p"
	"github.com/cometbft/cometbft/p2p/conn"
	"github.com/cometbft/cometbft/statesync"
	"github.com/cometbft/cometbft/types"

	"github.com/spdl/spdl/abci/store"
	"github.com/spdl/spdl/app/params"
)

const (
	// smallMessage is room for a message that holds no more than numbers, hashes and a signature.
	smallMessage = 1 << 10
	// bitArray is room for the bits of the largest set of validators, and of the parts of the largest
	// block: 64 of them in at most 11 bytes.
	bitArray = 4096 / 64 * 11
	// leastTransaction is room for an operation, and for an epoch with larger gradients than those of
	// the one in which the node started.
	leastTransaction = 1 << 17
)

// capacities bound a message on each channel, of a chain with such parameters, n participants and
// blocks. CometBFT collects a message until it is whole, and its own bounds are those of the largest
// chain: 100 MiB for a block, 16 MB for a chunk.
type capacities map[byte]int

func capacitiesOf(c *config.Config, p params.Params, n int, block int64) capacities {
	if block <= 0 || block > types.MaxBlockSizeBytes {
		block = types.MaxBlockSizeBytes
	}
	// More than now: members and longer gradients may come before the node's next start.
	transaction := max(leastTransaction, 2*int(p.TxBytes(n)))
	of := capacities{
		consensus.StateChannel:       smallMessage + bitArray + int(block/int64(types.BlockPartSizeBytes))/64*11,
		consensus.DataChannel:        int(types.BlockPartSizeBytes) + 4*smallMessage + bitArray,
		consensus.VoteChannel:        2 * smallMessage,
		consensus.VoteSetBitsChannel: smallMessage + bitArray,
		mempool.MempoolChannel:       transaction + smallMessage,
		evidence.EvidenceChannel:     params.EvidenceBytes + smallMessage,
		blocksync.BlocksyncChannel:   int(min(block*9/8, types.MaxBlockSizeBytes)) + 16*smallMessage,
		expressChannel:               max(leastTransaction, 2*int(p.AggregateBytes(n))) + smallMessage,
		statesync.SnapshotChannel:    smallMessage,
		statesync.ChunkChannel:       smallMessage,
	}
	if c.StateSync.Enable {
		of[statesync.SnapshotChannel] = 64 * smallMessage
		of[statesync.ChunkChannel] = store.ChunkBytes + smallMessage
	}
	return of
}

// within returns descriptors of channels whose messages are within the capacities.
func (of capacities) within(channels []*conn.ChannelDescriptor) []*conn.ChannelDescriptor {
	for _, channel := range channels {
		if most, ok := of[channel.ID]; ok && (channel.RecvMessageCapacity == 0 || channel.RecvMessageCapacity > most) {
			channel.RecvMessageCapacity = most
		}
	}
	return channels
}

// takes reports whether transactions of a round of n participants are within the capacities.
func (of capacities) takes(p params.Params, n int) bool {
	return int(p.TxBytes(n)) <= of[mempool.MempoolChannel]-smallMessage && int(p.AggregateBytes(n)) <= of[expressChannel]-smallMessage
}

// bounds are those of a node's messages: of each, and of all that are not whole yet.
type bounds struct {
	capacities
	*unfinished
}

func newBounds(c *config.Config, p params.Params, n int, block int64) bounds {
	most := maxUnfinished + p.RoundBytes(n) + 2*max(block, 0)
	if c.StateSync.Enable {
		most += 4 * store.ChunkBytes
	}
	return bounds{capacitiesOf(c, p, n, block), &unfinished{most: most}}
}

// bounded is a reactor behind the bounds.
type bounded struct {
	p2p.Reactor
	bounds
}

// GetChannels implements p2p.Reactor.
func (b bounded) GetChannels() []*conn.ChannelDescriptor { return b.within(b.Reactor.GetChannels()) }

// InitPeer implements p2p.Reactor.
func (b bounded) InitPeer(peer p2p.Peer) p2p.Peer { return b.begin(b.Reactor.InitPeer(peer)) }

// FilterMsgBytes implements p2p.MsgBytesFilter.
func (b bounded) FilterMsgBytes(channel byte, from p2p.Peer, message []byte) error {
	b.ended(from, channel, len(message))
	if f, ok := b.Reactor.(p2p.MsgBytesFilter); ok {
		return f.FilterMsgBytes(channel, from, message)
	}
	return nil
}

// boundedConsensus is CometBFT's consensus reactor behind the bounds, which other reactors of
// CometBFT's look for by its methods.
type boundedConsensus struct {
	*consensus.Reactor
	bounds
}

// GetChannels implements p2p.Reactor.
func (b boundedConsensus) GetChannels() []*conn.ChannelDescriptor {
	return b.within(b.Reactor.GetChannels())
}

// InitPeer implements p2p.Reactor.
func (b boundedConsensus) InitPeer(peer p2p.Peer) p2p.Peer {
	return b.begin(b.Reactor.InitPeer(peer))
}

// FilterMsgBytes implements p2p.MsgBytesFilter.
func (b boundedConsensus) FilterMsgBytes(channel byte, from p2p.Peer, message []byte) error {
	b.ended(from, channel, len(message))
	return nil
}

// install is a node's option that puts its reactors behind the bounds, but for those that know of
// them. It is the last.
func (b bounds) install(n *cmtnode.Node) {
	for _, name := range []string{"MEMPOOL", "BLOCKSYNC", "CONSENSUS", "EVIDENCE", "STATESYNC", "PEX", "EXPRESS", "CLOCK"} {
		r, ok := n.Switch().Reactor(name)
		if !ok {
			continue
		}
		var behind p2p.Reactor = bounded{r, b}
		switch r := r.(type) {
		case *gossiper, *relay:
			continue
		case *consensus.Reactor:
			behind = boundedConsensus{r, b}
		}
		n.Switch().RemoveReactor(name, r)
		n.Switch().AddReactor(name, behind)
	}
}
