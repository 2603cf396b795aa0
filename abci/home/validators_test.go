package home

import (
	"os"
	"path/filepath"
	"testing"

	dbm "github.com/cometbft/cometbft-db"
	"github.com/cometbft/cometbft/crypto/ed25519"
	sm "github.com/cometbft/cometbft/state"
	"github.com/cometbft/cometbft/types"
	"github.com/stretchr/testify/require"
)

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
