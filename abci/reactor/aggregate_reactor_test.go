package reactor

import (
	"testing"

	"github.com/cometbft/cometbft/mempool"
	"github.com/cometbft/cometbft/p2p"
	"github.com/cometbft/cometbft/p2p/mock"
	"github.com/cometbft/cometbft/types"

	abcitypes "github.com/cometbft/cometbft/abci/types"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/limit"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/tx"
)

// taker is a mempool that only records its transactions.
type taker struct {
	mempool.Mempool
	got []types.Tx
}

func (p *taker) CheckTx(t types.Tx, _ func(*abcitypes.ResponseCheckTx), _ mempool.TxInfo) error {
	p.got = append(p.got, t)
	return nil
}

// TestAggregateReactorReceives: a message on the channel reaches the mempool byte for byte, so its
// signature stays valid.
func TestAggregateReactorReceives(t *testing.T) {
	e, pool := NewAggregateReactor(1<<20), &taker{}
	e.Pool = pool
	signed := apptest.Sign(1, &tx.Aggregate{Round: 3, Leader: 1, Digest: make([]byte, 32)})
	var message tx.Envelope
	require.NoError(t, message.Unmarshal(signed.Raw))
	e.Receive(p2p.Envelope{Src: mock.NewPeer(nil), ChannelID: limit.AggregateChannel, Message: &message})
	require.Equal(t, []types.Tx{signed.Raw}, pool.got)
	e.Send([]byte("noise")) // the bytes are dropped without a panic
	require.Len(t, e.GetChannels(), 1)
}
