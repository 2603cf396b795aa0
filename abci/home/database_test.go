package home

import (
	"os"
	"path/filepath"
	"testing"

	dbm "github.com/cometbft/cometbft-db"
	"github.com/cometbft/cometbft/config"
	"github.com/cometbft/cometbft/crypto/ed25519"
	sm "github.com/cometbft/cometbft/state"
	"github.com/cometbft/cometbft/types"
	"github.com/stretchr/testify/require"
	"github.com/syndtr/goleveldb/leveldb/opt"

	"github.com/spdl/spdl/abci/store"
)

// TestWriteBuffersGrowWithRounds: a home without a genesis, and a home whose chain has small
// rounds, have the smallest write buffers. The buffers grow with the bytes of a round, up to a
// bound. Compression is off.
func TestWriteBuffersGrowWithRounds(t *testing.T) {
	require.Zero(t, roundBytes(config.DefaultConfig().SetRoot(t.TempDir())))
	for _, small := range []int64{0, 100_000, 1 * opt.MiB} {
		require.Equal(t, levelDB, *levelDBOf(small))
	}
	require.Equal(t, opt.NoCompression, levelDB.Compression)
	for round, buffer := range map[int64]int{
		1*opt.MiB + 1: 1 * opt.MiB, 6 * opt.MiB: 3 * opt.MiB, 8 * opt.MiB: 4 * opt.MiB, 80 * opt.MiB: 4 * opt.MiB,
	} {
		require.Equal(t, buffer, levelDBOf(round).WriteBuffer, "%d bytes", round)
	}
}

// TestDamagedDB: the error of a database whose files are damaged has its name and the remedy, also where CometBFT
// would panic.
func TestDamagedDB(t *testing.T) {
	c := DefaultConfig().SetRoot(t.TempDir())
	db, err := OpenDB(c, "blockstore")
	require.NoError(t, err)
	require.NoError(t, db.SetSync([]byte("k"), []byte("v")))
	require.NoError(t, db.Close())
	manifests, err := filepath.Glob(filepath.Join(c.DBDir(), "blockstore.db", "MANIFEST-*"))
	require.NoError(t, err)
	require.Len(t, manifests, 1)
	require.NoError(t, os.Truncate(manifests[0], 0))
	_, err = OpenDB(c, "blockstore")
	require.ErrorIs(t, err, store.ErrDamage)
	require.ErrorContains(t, err, filepath.Join(c.DBDir(), "blockstore.db"))
	require.ErrorContains(t, err, "spdl reset-state --yes")

	blocks := dbm.NewMemDB()
	require.NoError(t, blocks.Set([]byte("blockStore"), []byte("no protobuf")))
	_, err = StoredProgress(dbm.NewMemDB(), blocks, filepath.Join(t.TempDir(), "journal"))
	require.ErrorIs(t, err, store.ErrDamage)
}

// TestCountValidators: the state counts, without one genesis.json, and a damaged state does not end the process.
func TestCountValidators(t *testing.T) {
	c := DefaultConfig()
	c.SetRoot(t.TempDir())
	require.NoError(t, os.MkdirAll(filepath.Dir(c.GenesisFile()), 0o700))
	_, err := CountValidators(c)
	require.ErrorIs(t, err, os.ErrNotExist)

	genesis := func(n int) *types.GenesisDoc {
		doc := &types.GenesisDoc{ChainID: "c"}
		for range n {
			doc.Validators = append(doc.Validators, types.GenesisValidator{PubKey: ed25519.GenPrivKey().PubKey(), Power: 1})
		}
		require.NoError(t, doc.ValidateAndComplete())
		return doc
	}
	require.NoError(t, genesis(1).SaveAs(c.GenesisFile()))
	counts := func(want int) {
		t.Helper()
		n, err := CountValidators(c)
		require.NoError(t, err)
		require.Equal(t, want, n)
	}
	counts(1)
	require.NoDirExists(t, c.DBDir())

	change := func(do func(dbm.DB) error) {
		db, err := OpenDB(c, "state")
		require.NoError(t, err)
		require.NoError(t, do(db))
		require.NoError(t, db.Close())
	}
	change(func(db dbm.DB) error {
		s, err := sm.MakeGenesisState(genesis(3))
		require.NoError(t, err)
		return sm.NewStore(db, sm.StoreOptions{}).Save(s)
	})
	counts(3)
	change(func(db dbm.DB) error { return db.Set([]byte("stateKey"), []byte("damaged")) })
	counts(1)
}
