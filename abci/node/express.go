package node

import (
	"fmt"

	"github.com/cometbft/cometbft/mempool"
	"github.com/cometbft/cometbft/p2p"

	"github.com/spdl/spdl/app/tx"
)

// The channel of aggregates has an id that CometBFT leaves free, and the
// priority of consensus's votes, above the mempool's 5.
const (
	expressChannel  = byte(0x51)
	expressPriority = 7
	expressQueue    = 16
)

// express is the p2p reactor for aggregates. The mempool sends a peer its
// transactions in order, so an aggregate would wait behind all gradients of the
// round that are still being sent, most of them to peers that have them
// already; and the round waits only for the aggregate. On its own channel it
// overtakes them. The mempool carries it as well, for peers that connect later.
type express struct {
	p2p.BaseReactor
	pool     mempool.Mempool
	maxBytes int
}

func newExpress(maxBytes int) *express {
	e := &express{maxBytes: maxBytes}
	e.BaseReactor = *p2p.NewBaseReactor("Express", e)
	return e
}

// GetChannels implements p2p.Reactor.
func (e *express) GetChannels() []*p2p.ChannelDescriptor {
	return []*p2p.ChannelDescriptor{{
		ID: expressChannel, Priority: expressPriority, SendQueueCapacity: expressQueue,
		RecvMessageCapacity: e.maxBytes, MessageType: &tx.Envelope{},
	}}
}

// Receive hands a peer's aggregate to the mempool, like any transaction. If it
// is new and admitted, the application calls send.
func (e *express) Receive(m p2p.Envelope) {
	message, ok := m.Message.(*tx.Envelope)
	if !ok || tx.Kind(message.Kind) != tx.KindAggregate {
		// The text of the message is not logged: it is as long as the peer likes.
		e.Logger.Error("not an aggregate", "peer", m.Src, "message", fmt.Sprintf("%T", m.Message))
		e.Switch.StopPeerForError(m.Src, "a message that is no aggregate on the aggregates' channel")
		return
	}
	raw, err := message.Marshal()
	if err == nil {
		err = e.pool.CheckTx(raw, nil, mempool.TxInfo{SenderP2PID: m.Src.ID()})
	}
	if err != nil {
		e.Logger.Debug("aggregate not taken", "peer", m.Src, "err", err) // mostly known already
	}
}

// send passes an admitted aggregate to all peers. It does not wait.
func (e *express) send(raw []byte) {
	var message tx.Envelope
	if err := message.Unmarshal(raw); err != nil || !e.IsRunning() {
		return
	}
	e.Switch.TryBroadcast(p2p.Envelope{ChannelID: expressChannel, Message: &message})
}
