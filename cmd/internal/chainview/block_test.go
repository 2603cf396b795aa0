package chainview

import (
	"testing"

	cmttypes "github.com/cometbft/cometbft/types"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
)

// TestTurnOf: a block closes the round of the aggregate with which it begins, or its commitments are for one; a block
// of operations does neither.
func TestTurnOf(t *testing.T) {
	raw := func(body tx.Body) cmttypes.Tx {
		x, err := tx.Sign(apptest.ChainID, body, apptest.Key(0))
		require.NoError(t, err)
		return x.Raw
	}
	at, operation := params.RoundID{Epoch: 1, Round: 7}, raw(&tx.Approve{Proposal: make([]byte, 32)})
	commit := raw(&tx.Commit{Epoch: 1, Round: 7, Hash: make([]byte, 32)})
	aggregate := raw(&tx.Aggregate{Epoch: 1, Round: 7, Digest: make([]byte, 32)})
	require.Equal(t, &Turn{at, true}, TurnOf(cmttypes.Txs{aggregate, operation}))
	require.Equal(t, &Turn{at, false}, TurnOf(cmttypes.Txs{commit, operation}))
	require.Nil(t, TurnOf(cmttypes.Txs{operation}))
	require.Nil(t, TurnOf(cmttypes.Txs{[]byte("no transaction")}))
	require.Nil(t, TurnOf(nil))
}
