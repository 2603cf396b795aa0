package databases

import (
	"bytes"
	"context"
	"testing"
	"time"

	dbm "github.com/cometbft/cometbft-db"
	abcitypes "github.com/cometbft/cometbft/abci/types"
	"github.com/cometbft/cometbft/libs/pubsub/query"
	"github.com/cometbft/cometbft/state/txindex"
	"github.com/cometbft/cometbft/state/txindex/kv"
	cmtstore "github.com/cometbft/cometbft/store"
	"github.com/cometbft/cometbft/types"
	"github.com/stretchr/testify/require"
)

// indexed stores blocks of transactions of these sizes, and CometBFT's index of them.
func indexed(t *testing.T, sizes ...int) (txs types.Txs, index *kv.TxIndex, raw, blocks dbm.DB) {
	for i, size := range sizes {
		txs = append(txs, bytes.Repeat([]byte{byte(i + 1)}, size))
	}
	raw, blocks = dbm.NewMemDB(), dbm.NewMemDB()
	index = kv.NewTxIndex(&txIndexDB{DB: raw, blocks: func() dbm.DB { return blocks }})
	bs := cmtstore.NewBlockStore(blocks)
	commit := &types.Commit{}
	for height := range int64(2) {
		block := types.MakeBlock(height+1, txs, commit, nil)
		block.ProposerAddress, block.ValidatorsHash = make([]byte, 20), make([]byte, 32)
		parts, err := block.MakePartSet(types.BlockPartSizeBytes)
		require.NoError(t, err)
		id := types.BlockID{Hash: block.Hash(), PartSetHeader: parts.Header()}
		commit = &types.Commit{Height: height + 1, BlockID: id, Signatures: []types.CommitSig{{
			BlockIDFlag: types.BlockIDFlagCommit, ValidatorAddress: make([]byte, 20), Timestamp: time.Unix(1, 0),
			Signature: []byte{1},
		}}}
		bs.SaveBlock(block, parts, commit)
	}
	batch := txindex.NewBatch(int64(len(txs)))
	for i, tx := range txs {
		require.NoError(t, batch.Add(&abcitypes.TxResult{Height: 2, Index: uint32(i), Tx: tx,
			Result: abcitypes.ExecTxResult{Data: []byte{byte(i)}}}))
	}
	require.NoError(t, index.AddBatch(batch))
	return txs, index, raw, blocks
}

// TestIndexedTransactionsComeFromTheirBlock: lookup by hash and search find each transaction with
// its bytes, whatever its size and place, and large transactions take no space in the index.
func TestIndexedTransactionsComeFromTheirBlock(t *testing.T) {
	part := int(types.BlockPartSizeBytes)
	txs, index, raw, blocks := indexed(t, 200, 2*part, 3*part-7, 1, part, 5*part)
	for i, tx := range txs {
		got, err := index.Get(tx.Hash())
		require.NoError(t, err)
		require.Equal(t, []byte(tx), got.Tx, "number %d", i)
		require.Equal(t, []byte{byte(i)}, got.Result.Data)
	}
	all, err := index.Search(context.Background(), query.MustCompile("tx.height = 2"))
	require.NoError(t, err)
	require.Len(t, all, len(txs))
	for _, r := range all {
		require.Equal(t, []byte(txs[r.Index]), r.Tx)
	}
	it, err := raw.Iterator(nil, nil)
	require.NoError(t, err)
	defer it.Close()
	stored := 0
	for ; it.Valid(); it.Next() {
		stored += len(it.Value())
	}
	require.Less(t, stored, part)

	require.NoError(t, blocks.Delete([]byte("P:2:1")))
	got, err := index.Get(txs[1].Hash())
	require.NoError(t, err, "of a block that is being dropped")
	require.Empty(t, got.Tx)
	require.Equal(t, []byte{1}, got.Result.Data)
}
