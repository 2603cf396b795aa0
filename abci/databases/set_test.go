package databases

import (
	"testing"

	"github.com/cometbft/cometbft/config"
	"github.com/stretchr/testify/require"
)

// TestClosedDatabase: a goroutine of CometBFT that reads from a closed database finds nothing, and
// does not panic.
func TestClosedDatabase(t *testing.T) {
	c := config.DefaultConfig().SetRoot(t.TempDir())
	var d Set
	for _, backend := range []string{"goleveldb", "memdb"} {
		c.DBBackend = backend
		db, err := d.Provide(&config.DBContext{ID: "x" + backend, Config: c})
		require.NoError(t, err)
		require.NoError(t, db.SetSync([]byte("k"), []byte("v")))
		got, err := db.Get([]byte("k"))
		require.NoError(t, err)
		require.Equal(t, "v", string(got))
		require.NoError(t, db.Close())
		_, err = db.Get([]byte("k"))
		require.NoError(t, err)
		_, err = db.Has([]byte("k"))
		require.NoError(t, err)
		require.NoError(t, db.Close(), "closing again is nothing")
	}
	require.NoError(t, d.Close())
}
