package reactor

import (
	"fmt"

	"github.com/cometbft/cometbft/mempool"
	"github.com/cometbft/cometbft/p2p"

	"github.com/spdl/spdl/abci/limit"
	"github.com/spdl/spdl/app/tx"
)

// aggregatePriority is the priority of the channel for aggregates. It equals that of CometBFT's
// channel for votes, and is above that of the mempool's channel (5).
const (
	aggregatePriority = 7
	aggregateQueue    = 16
)

// AggregateReactor is the p2p reactor for aggregates. It sends aggregates on their own channel. The mempool's channel
// sends in order: an aggregate would wait there behind all gradients of the round, although the round waits only for
// the aggregate. The mempool also sends the aggregate, for peers that connect later.
type AggregateReactor struct {
	p2p.BaseReactor
	Pool     mempool.Mempool
	maxBytes int
}

func NewAggregateReactor(maxBytes int) *AggregateReactor {
	r := &AggregateReactor{maxBytes: maxBytes}
	r.BaseReactor = *p2p.NewBaseReactor("Aggregates", r)
	return r
}

// GetChannels implements p2p.Reactor.
func (r *AggregateReactor) GetChannels() []*p2p.ChannelDescriptor {
	return []*p2p.ChannelDescriptor{{
		ID: limit.AggregateChannel, Priority: aggregatePriority, SendQueueCapacity: aggregateQueue,
		RecvMessageCapacity: r.maxBytes, MessageType: &tx.Envelope{},
	}}
}

// Receive passes a peer's aggregate to the mempool, like any other transaction. If the application
// admits it as new, the application calls Send.
func (r *AggregateReactor) Receive(m p2p.Envelope) {
	message, ok := m.Message.(*tx.Envelope)
	if !ok || tx.Kind(message.Kind) != tx.KindAggregate {
		// The text of the message is not logged, because the peer chooses its length.
		r.Logger.Error("not an aggregate", "peer", m.Src, "message", fmt.Sprintf("%T", m.Message))
		r.Switch.StopPeerForError(m.Src, "a message that is no aggregate on the aggregates' channel")
		return
	}
	raw, err := message.Marshal()
	if err == nil {
		err = r.Pool.CheckTx(raw, nil, mempool.TxInfo{SenderP2PID: m.Src.ID()})
	}
	if err != nil {
		r.Logger.Debug("aggregate not taken", "peer", m.Src, "err", err) // usually, the mempool already has it
	}
}

// Send sends an admitted aggregate to all peers. It does not block.
func (r *AggregateReactor) Send(raw []byte) {
	var message tx.Envelope
	if err := message.Unmarshal(raw); err != nil || !r.IsRunning() {
		return
	}
	r.Switch.TryBroadcast(p2p.Envelope{ChannelID: limit.AggregateChannel, Message: &message})
}
