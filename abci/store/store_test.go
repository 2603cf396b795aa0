package store

import (
	"bytes"
	"testing"

	dbm "github.com/cometbft/cometbft-db"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
)

// occurrences counts the values of a database that contain a model's bytes.
func occurrences(t *testing.T, db dbm.DB, model []float64) (n int) {
	t.Helper()
	it, err := db.Iterator(nil, nil)
	require.NoError(t, err)
	defer it.Close()
	for ; it.Valid(); it.Next() {
		if bytes.Contains(it.Value(), app.EncodeParameters(model)) {
			n++
		}
	}
	return n
}

// TestStateIsLoadedAsItWasSaved: the store returns the saved state after every kind of height: a
// round closed, an operation changed the state, nothing changed, models were dropped, or an epoch
// began with the kept model or a new one. The model of a round is stored once.
func TestStateIsLoadedAsItWasSaved(t *testing.T) {
	for _, fresh := range []bool{false, true} {
		db := dbm.NewMemDB()
		s := apptest.State(4, func(p *params.Params) { p.Training.Rounds = 2 * maxModels })
		store := New(db)
		store.CheckpointEvery = 0
		step := func(txs ...*tx.Tx) *app.Outcome {
			out, err := s.Execute(app.Block{Height: s.Height + 1, Txs: txs})
			require.NoError(t, err)
			require.NoError(t, store.Save(out, s.Height == 0))
			s = out.State
			loaded, err := New(db).State()
			require.NoError(t, err)
			require.Equal(t, s.Encode(), loaded.Encode(), "height %d", s.Height)
			require.Equal(t, s.Height, loaded.Height)
			return out
		}
		closeRound := func(operations ...*tx.Tx) *app.Outcome {
			return step(append(apptest.Close(s, s.Height+1, apptest.Indices(4)...), operations...)...)
		}
		step() // nothing
		for range maxModels + 2 {
			closeRound()
			require.Equal(t, 1, occurrences(t, db, s.Model), "height %d", s.Height)
		}
		data, err := store.Model(0, 1)
		require.NoError(t, err)
		require.Nil(t, data, "dropped")
		proposal := apptest.Sign(0, app.NewStartEpoch(0, 1, 1, s.Params, !fresh, true))
		require.True(t, step(proposal).Changed)
		require.False(t, step().Changed)
		closeRound(apptest.Approve(1, proposal), apptest.Approve(2, proposal))
		require.Equal(t, uint64(1), s.Progress.Epoch)
		step()
		closeRound()
		require.Equal(t, 1, occurrences(t, db, s.Model))
	}
}
