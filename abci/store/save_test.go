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

// lossy is a database that keeps only what was written with a sync, as after a power cut.
type lossy struct{ dbm.DB }

func (l lossy) NewBatch() dbm.Batch { return lossyBatch{l.DB.NewBatch()} }

type lossyBatch struct{ dbm.Batch }

func (lossyBatch) Write() error { return nil }

// TestCrashLosesNoLargeState: of a large state the database has that of an earlier height, from which
// the later blocks lead to the current one, after every kind of height: a round closed, an operation
// changed the state, nothing changed, an epoch began, training finished. The database has all records,
// and besides the checkpoints one model of the running epoch. The earlier height is never below those that a node which
// retains the least lets CometBFT drop: CometBFT loads the validators of that height when it replays the next block.
func TestCrashLosesNoLargeState(t *testing.T) {
	const rounds = 40
	db := lossy{dbm.NewMemDB()}
	s := apptest.State(4, func(p *params.Params) { p.Training.Rounds = rounds })
	genesis := s
	store := New(db)
	store.DeferAbove = 0
	rng := rand.New(rand.NewPCG(29, 6))
	var blocks []app.Block
	deferrals, writes, prunings := 0, 0, 0
	kept := uint64(0) // the lowest height that CometBFT keeps
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
		retain, err := store.RetainHeight(out, Retain{Heights: 1})
		require.NoError(t, err)
		if uint64(retain) > kept {
			kept = uint64(retain)
			prunings++
		}
		require.GreaterOrEqual(t, loaded.Height, kept, "height %d", s.Height)
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
			model, err := store.Model(r.Epoch, r.Round)
			require.NoError(t, err)
			require.Equal(t, app.EncodeParameters(s.Model), model)
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
			switch at := rng.IntN(6); {
			case at == 0:
				step()
			case at == 1 && s.Progress.Epoch == 0: // without a stop the second epoch defers the most
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
	require.Equal(t, 2, models(t, db), "the last of each epoch")
	require.Greater(t, prunings, 2)
}

// TestLastModelOfStalledEpoch: if a stalled round ends an epoch, the database has the epoch's last
// model.
func TestLastModelOfStalledEpoch(t *testing.T) {
	db := dbm.NewMemDB()
	s := apptest.State(4, func(p *params.Params) { p.Training.Rounds = 100 })
	store := New(db)
	store.DeferAbove = 0
	step := func(txs ...*tx.Tx) {
		out, err := s.Execute(app.Block{Height: s.Height + 1, Txs: txs})
		require.NoError(t, err)
		require.NoError(t, store.Save(out, s.Height == 0))
		s = out.State
	}
	step()
	for range 5 {
		step(apptest.Close(s, s.Height+1, apptest.Indices(4)...)...)
	}
	want := app.EncodeParameters(s.Model)
	proposal := apptest.Sign(0, app.NewStartEpoch(0, 1, 1, s.Params, false, true))
	step(proposal)
	step(apptest.Approve(1, proposal), apptest.Approve(2, proposal))
	for s.Progress.Epoch == 0 {
		require.Less(t, s.Height, uint64(5000))
		step()
	}
	got, err := New(db).Model(0, 4)
	require.NoError(t, err)
	require.Equal(t, want, got)
}

// TestOldModelsAreDropped: a large state that was written at every height leaves no model behind.
func TestOldModelsAreDropped(t *testing.T) {
	db := dbm.NewMemDB()
	s := apptest.State(4, func(p *params.Params) { p.Training.Rounds = 200 })
	store := New(db)
	for !s.Finished() {
		if s.Progress.Round == 100 { // another release goes on
			store = New(db)
			_, err := store.State()
			require.NoError(t, err)
			store.DeferAbove = 0
		}
		out, err := s.Execute(app.Block{Height: s.Height + 1, Txs: apptest.Close(s, s.Height+1, apptest.Indices(4)...)})
		require.NoError(t, err)
		require.NoError(t, store.Save(out, s.Height == 0))
		s = out.State
	}
	require.Equal(t, 1, models(t, db))
}

// models returns the number of models in a database, without those of checkpoints.
func models(t *testing.T, db dbm.DB) (n int) {
	t.Helper()
	it, err := db.Iterator([]byte{prefixModel}, []byte{prefixModel + 1})
	require.NoError(t, err)
	defer it.Close()
	for ; it.Valid(); it.Next() {
		n++
	}
	return n
}

// TestRecentModels: as many models as fit in recentBytes are in memory, at least the last.
func TestRecentModels(t *testing.T) {
	var r recentModels
	model := make([]float64, recentBytes/8/3)
	for round := range uint64(5) {
		r.add(params.RoundID{Round: round}, model)
	}
	for round := range uint64(5) {
		require.Equal(t, round >= 2, r.get(params.RoundID{Round: round}) != nil, round)
	}
	r.add(params.RoundID{Round: 5}, make([]float64, recentBytes))
	require.Nil(t, r.get(params.RoundID{Round: 4}))
	require.NotNil(t, r.get(params.RoundID{Round: 5}))
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
