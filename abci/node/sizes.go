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
	// smallMessage is the size limit of a message that holds only numbers, hashes and a signature.
	smallMessage = 1 << 10
	// bitArray is the size limit of the bits of the largest validator set, and of the parts of the
	// largest block: 64 of them in at most 11 bytes.
	bitArray = 4096 / 64 * 11
	// leastTransaction is the minimum limit of a transaction: an operation, or a gradient of an
	// epoch with larger gradients than the epoch in which the node started.
	leastTransaction = 1 << 17
)

// capacities are the size limits of a message on each channel, from the chain's parameters, n
// participants and blocks. CometBFT collects a message until it is whole, with the limits of the
// largest chain: 100 MiB for a block, 16 MB for a chunk.
type capacities map[byte]int

func capacitiesOf(c *config.Config, p params.Params, n int, block int64) capacities {
	if block <= 0 || block > types.MaxBlockSizeBytes {
		block = types.MaxBlockSizeBytes
	}
	// With a margin: members and larger gradients may come before the node's next start.
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

// within returns channel descriptors with the capacities as limits.
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

// bounds are the limits of a node's messages: of each message, and of all unfinished ones together.
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

// bounded is a reactor with these limits.
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

// boundedConsensus is CometBFT's consensus reactor with these limits; CometBFT's other reactors
// look for it by its methods.
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

// install is a node option that puts the limits on its reactors, except those that know of them. It
// must be the last option.
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
