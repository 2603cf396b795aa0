package client

import (
	"testing"

	"github.com/cometbft/cometbft/types"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/proof"
	"github.com/spdl/spdl/abci/store"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/tx"
)

// TestModelOfLastRound: a block that closes a round and starts an epoch with a new model leaves a
// state without the round's model. The store does not keep the new model as the round's, and the
// client recomputes the round's model from the block.
func TestModelOfLastRound(t *testing.T) {
	s := apptest.State(4)
	proposal := apptest.Sign(0, app.NewStartEpoch(0, 1, 1, s.Params, false, true))
	txs := apptest.Close(s, 1, apptest.Indices(4)...)
	txs = append(txs, proposal, apptest.Approve(1, proposal), apptest.Approve(2, proposal))
	block := app.Block{Height: 1, Txs: txs}
	out, err := s.Execute(block)
	require.NoError(t, err)
	require.Len(t, out.State.Epochs, 1)

	db := store.New(nil)
	require.NoError(t, db.Save(out, true))
	data, err := db.Model(0, 0)
	require.NoError(t, err)
	require.Nil(t, data)

	record, err := db.Record(0, 0)
	require.NoError(t, err)
	initial := app.ModelHash(out.State.Model)
	require.NotEqual(t, record.ModelHash, initial[:])
	var history proof.History
	require.NoError(t, history.Grow(1, db.Records))
	_, err = history.Round(out.State, record)
	require.NoError(t, err)
	x, err := modelAfter(s, block, *record)
	require.NoError(t, err)
	hash := app.ModelHash(x)
	require.Equal(t, record.ModelHash, hash[:])
	_, err = modelAfter(s, app.Block{Height: 1, Txs: []*tx.Tx{}}, *record)
	require.ErrorContains(t, err, "recomputed model has hash")
}

// TestReplayEndsAtAnUpgrade: a block of another state machine version is not executed by this
// version's rules. The error names the release that executes it.
func TestReplayEndsAtAnUpgrade(t *testing.T) {
	var b types.Block
	b.Height, b.Version.App = 9, app.Version
	_, err := Execution(&b)
	require.NoError(t, err)
	b.Version.App++
	_, err = Execution(&b)
	require.ErrorIs(t, err, app.ErrVersion)
	require.ErrorContains(t, err, "a release of that version computes the model")
}

// TestKept: the store keeps the state after every n-th round, and the client finds the last
// checkpoint at or before a round.
func TestKept(t *testing.T) {
	db := store.New(nil)
	db.CheckpointEvery = 2
	s := apptest.State(4)
	none, err := db.LatestCheckpoint(0, 9)
	require.NoError(t, err)
	require.Nil(t, none)
	hashes := map[uint64][32]byte{}
	for round := range uint64(5) {
		out, err := s.Execute(app.Block{Height: s.Height + 1, Txs: apptest.Close(s, s.Height+1, apptest.Indices(4)...)})
		require.NoError(t, err)
		require.NoError(t, db.Save(out, false))
		s = out.State
		hashes[round] = s.Hash()
	}
	for asked, want := range map[uint64]uint64{1: 1, 2: 1, 3: 3, 4: 3, 99: 3} {
		k, err := db.LatestCheckpoint(0, asked)
		require.NoError(t, err)
		require.Equal(t, want, k.Round, asked)
		kept, err := app.DecodeState(k.Round+1, k.Document)
		require.NoError(t, err)
		require.Equal(t, hashes[want], kept.Hash())
	}
	k, err := db.LatestCheckpoint(0, 0)
	require.NoError(t, err)
	require.Nil(t, k)
	k, err = db.LatestCheckpoint(7, 0)
	require.NoError(t, err)
	require.Equal(t, uint64(3), k.Round)
	n := 0
	require.NoError(t, db.Records(nil, func(r *app.Record) bool { n++; return true }))
	require.Equal(t, 5, n)
}
