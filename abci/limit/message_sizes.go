package limit

import (
	"errors"
	"fmt"
	"slices"

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
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
)

// AggregateChannel is the channel of reactor.AggregateReactor. CometBFT does not use this channel id.
const AggregateChannel = byte(0x51)

const (
	// SmallMessage is the size limit, in bytes, of a message that holds only numbers, hashes and a signature.
	SmallMessage = 1 << 10
	// bitArray is the size limit, in bytes, of a bit array with one bit for each validator of the largest set, or for each
	// part of the largest block: 4096 bits, of which 64 take at most 11 bytes.
	bitArray = 4096 / 64 * 11
	// minTransaction is the lowest size limit of a transaction, in bytes. It leaves room for
	// operations, and for larger gradients of a later epoch.
	minTransaction = 1 << 17
)

// messageSizes holds the size limit of a message, in bytes, for each channel. The limits follow from the chain's
// parameters, number of participants and block size. They are needed because CometBFT buffers a message until it is
// whole. CometBFT's own limits are for the largest possible chain: 100 MiB for a block, 16 MB for a chunk.
type messageSizes map[byte]int

func MessageSizesOf(c *config.Config, p params.Params, n int, block int64) messageSizes {
	if block <= 0 || block > types.MaxBlockSizeBytes {
		block = types.MaxBlockSizeBytes
	}
	// The limit is twice the current size, because members may join and gradients may grow before the node's next start.
	transaction := max(minTransaction, 2*int(p.TxBytes(n)))
	of := messageSizes{
		consensus.StateChannel:       SmallMessage + bitArray + int(block/int64(types.BlockPartSizeBytes))/64*11,
		consensus.DataChannel:        int(types.BlockPartSizeBytes) + 4*SmallMessage + bitArray,
		consensus.VoteChannel:        2 * SmallMessage,
		consensus.VoteSetBitsChannel: SmallMessage + bitArray,
		mempool.MempoolChannel:       transaction + SmallMessage,
		evidence.EvidenceChannel:     params.EvidenceBytes + SmallMessage,
		blocksync.BlocksyncChannel:   int(min(block*9/8, types.MaxBlockSizeBytes)) + 16*SmallMessage,
		AggregateChannel:             max(minTransaction, 2*int(p.AggregateBytes(n))) + SmallMessage,
		statesync.SnapshotChannel:    SmallMessage,
		statesync.ChunkChannel:       SmallMessage,
	}
	if c.StateSync.Enable {
		of[statesync.SnapshotChannel] = 64 * SmallMessage
		of[statesync.ChunkChannel] = store.ChunkBytes + SmallMessage
	}
	return of
}

// Apply lowers the size limits in channel descriptors to those in messageSizes, and returns the descriptors.
func (of messageSizes) Apply(channels []*conn.ChannelDescriptor) []*conn.ChannelDescriptor {
	for _, channel := range channels {
		if most, ok := of[channel.ID]; ok && (channel.RecvMessageCapacity == 0 || channel.RecvMessageCapacity > most) {
			channel.RecvMessageCapacity = most
		}
	}
	return channels
}

// Fit reports whether the transactions of a round with n participants are within the limits.
func (of messageSizes) Fit(p params.Params, n int) bool {
	return int(p.TxBytes(n)) <= of[mempool.MempoolChannel]-SmallMessage &&
		int(p.AggregateBytes(n)) <= of[AggregateChannel]-SmallMessage
}

// Messages limits the size of each message to a node, and of all unfinished messages together.
type Messages struct {
	messageSizes
	*unfinishedLimiter
}

func NewMessages(c *config.Config, p params.Params, n int, block int64) Messages {
	most := maxUnfinished + p.RoundBytes(n) + 2*max(block, 0)
	if c.StateSync.Enable {
		most += 4 * store.ChunkBytes
	}
	return Messages{MessageSizesOf(c, p, n, block), &unfinishedLimiter{max: most}}
}

// limitedReactor is a reactor with the limits of Messages.
type limitedReactor struct {
	p2p.Reactor
	Messages
}

// GetChannels implements p2p.Reactor.
func (b limitedReactor) GetChannels() []*conn.ChannelDescriptor {
	return b.Apply(b.Reactor.GetChannels())
}

// InitPeer implements p2p.Reactor.
func (b limitedReactor) InitPeer(peer p2p.Peer) p2p.Peer { return b.Track(b.Reactor.InitPeer(peer)) }

// FilterMsgBytes implements p2p.MsgBytesFilter.
func (b limitedReactor) FilterMsgBytes(channel byte, from p2p.Peer, message []byte) error {
	b.Finished(from, channel, len(message))
	if f, ok := b.Reactor.(p2p.MsgBytesFilter); ok {
		return f.FilterMsgBytes(channel, from, message)
	}
	return nil
}

// limitedConsensus is CometBFT's consensus reactor with the limits of Messages. It embeds
// *consensus.Reactor, because CometBFT's other reactors look for the methods of that type.
type limitedConsensus struct {
	*consensus.Reactor
	Messages
}

// GetChannels implements p2p.Reactor.
func (b limitedConsensus) GetChannels() []*conn.ChannelDescriptor {
	return b.Apply(b.Reactor.GetChannels())
}

// InitPeer implements p2p.Reactor.
func (b limitedConsensus) InitPeer(peer p2p.Peer) p2p.Peer {
	return b.Track(b.Reactor.InitPeer(peer))
}

// FilterMsgBytes implements p2p.MsgBytesFilter.
func (b limitedConsensus) FilterMsgBytes(channel byte, from p2p.Peer, message []byte) error {
	b.Finished(from, channel, len(message))
	return nil
}

// Install returns a node option that puts the limits on the node's reactors. The exempt reactors
// apply the limits themselves. The option must be the last one.
func (b Messages) Install(exempt ...p2p.Reactor) cmtnode.Option {
	return func(n *cmtnode.Node) { b.replace(n, exempt) }
}

func (b Messages) replace(n *cmtnode.Node, exempt []p2p.Reactor) {
	for _, name := range []string{"MEMPOOL", "BLOCKSYNC", "CONSENSUS", "EVIDENCE", "STATESYNC", "PEX", "AGGREGATES",
		"CLOCK"} {
		r, ok := n.Switch().Reactor(name)
		if !ok || slices.Contains(exempt, r) {
			continue
		}
		var behind p2p.Reactor = limitedReactor{r, b}
		if c, ok := r.(*consensus.Reactor); ok {
			behind = limitedConsensus{c, b}
		}
		n.Switch().RemoveReactor(name, r)
		n.Switch().AddReactor(name, behind)
	}
}

// ErrOutgrown means that the blocks of the chain may exceed the limits that the node set at its start.
var ErrOutgrown = errors.New("the chain's blocks have outgrown what this node takes since its start: start it again")

// CheckOutgrown returns ErrOutgrown if the blocks of the state's chain may be larger than the limit
// on messages of block sync.
func (of messageSizes) CheckOutgrown(s *app.State) error {
	if most := int64(of[blocksync.BlocksyncChannel]); s.Progress.BlockBytes > most {
		return fmt.Errorf("%w: they may have %d bytes, it takes %d", ErrOutgrown, s.Progress.BlockBytes, most)
	}
	return nil
}
