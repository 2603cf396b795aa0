package store

import (
	"math/rand/v2"
	"testing"

	dbm "github.com/cometbft/cometbft-db"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
)

// TestCrashLosesNoLargeState: of a large state the database has that of an earlier height, from which
// the later blocks lead to the current one, after every kind of height: a round closed, an operation
// changed the state, nothing changed, an epoch began, training finished. The database has all records,
// and besides the checkpoints one model of the running epoch.
func TestCrashLosesNoLargeState(t *testing.T) {
	const rounds = 40
	db := dbm.NewMemDB()
	s := apptest.State(4, func(p *params.Params) { p.Training.Rounds = rounds })
	genesis := s
	store := New(db)
	store.DeferAbove = 0
	rng := rand.New(rand.NewPCG(29, 6))
	var blocks []app.Block
	deferrals, writes := 0, 0
	step := func(txs ...*tx.Tx) {
		block := app.Block{Height: s.Height + 1, Txs: txs}
		blocks = append(blocks, block)
		out, err := s.Execute(block)
		require.NoError(t, err)
		require.NoError(t, store.Save(out, s.Height == 0))
		s = out.State
		loaded, err := New(db).State()
		require.NoError(t, err)
		require.LessOrEqual(t, s.Height-loaded.Height, uint64(maxDeferred))
		if loaded.Height < s.Height {
			deferrals++
		} else {
			writes++
		}
		for _, later := range blocks[loaded.Height-genesis.Height:] {
			out, err := loaded.Execute(later)
			require.NoError(t, err)
			loaded = out.State
		}
		require.Equal(t, s.Encode(), loaded.Encode(), "height %d", s.Height)
		if r := out.Record; r != nil {
			stored, err := store.Record(r.Epoch, r.Round)
			require.NoError(t, err)
			require.Equal(t, r, stored)
		}
	}
	stop := func() { // the node stops and starts
		require.NoError(t, store.Flush())
		store = New(db)
		store.DeferAbove = 0
		loaded, err := store.State()
		require.NoError(t, err)
		require.Equal(t, s.Encode(), loaded.Encode(), "height %d", s.Height)
		require.Equal(t, s.Height, loaded.Height)
	}
	closeRound := func(operations ...*tx.Tx) {
		step(append(apptest.Close(s, s.Height+1, apptest.Indices(4)...), operations...)...)
	}
	epoch := func() {
		for !s.Finished() {
			switch rng.IntN(6) {
			case 0:
				step()
			case 1:
				stop()
			default:
				closeRound()
			}
		}
	}
	step()
	epoch()
	stop()
	for range maxDeferred + 8 { // heights without a round
		step()
	}
	proposal := apptest.Sign(0, app.NewStartEpoch(0, 1, 1, s.Params, true, false))
	step(proposal)
	step(apptest.Approve(1, proposal), apptest.Approve(2, proposal))
	require.Equal(t, uint64(1), s.Progress.Epoch)
	epoch()
	require.Greater(t, deferrals, rounds, "heights whose state was deferred")
	require.Greater(t, writes, rounds/DefaultCheckpointEvery)
	models := 0
	it, err := db.Iterator([]byte{prefixModel}, []byte{prefixModel + 1})
	require.NoError(t, err)
	defer it.Close()
	for ; it.Valid(); it.Next() {
		models++
	}
	require.Equal(t, 2, models, "the last of each epoch")
}

// TestSmallStateIsNotDeferred: the state of a height is in the database when Save returns.
func TestSmallStateIsNotDeferred(t *testing.T) {
	db := dbm.NewMemDB()
	s := apptest.State(4)
	store := New(db)
	store.DeferAbove = 8 * (len(s.Model) + len(s.Velocity))
	for range 5 {
		out, err := s.Execute(app.Block{Height: s.Height + 1, Txs: apptest.Close(s, s.Height+1, apptest.Indices(4)...)})
		require.NoError(t, err)
		require.NoError(t, store.Save(out, s.Height == 0))
		s = out.State
		loaded, err := New(db).State()
		require.NoError(t, err)
		require.Equal(t, s.Height, loaded.Height)
	}
}
