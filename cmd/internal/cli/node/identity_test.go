package node

import (
	"path/filepath"
	"testing"

	"github.com/cometbft/cometbft/config"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/home"
)

func TestAddress(t *testing.T) {
	made, err := home.Init(filepath.Join(t.TempDir(), "reached"), home.DefaultConfig(), home.DefaultAppConfig())
	require.NoError(t, err)
	dir, id, store := made.Dir, string(made.NodeID), new(home.Keystore)
	for _, at := range []struct{ listen, external, want string }{
		{"tcp://0.0.0.0:26656", "", ""},
		{"tcp://127.0.0.1:26656", "", ""},
		{"tcp://[::]:26656", "", ""},
		{"tcp://:26656", "", ""},
		{"tcp://10.0.0.7:26656", "", id + "@10.0.0.7:26656"},
		{"tcp://0.0.0.0:26656", "node.example:443", id + "@node.example:443"},
		{"tcp://0.0.0.0:26656", "tcp://node.example:443", id + "@node.example:443"},
	} {
		c := config.DefaultConfig().SetRoot(dir)
		c.P2P.ListenAddress, c.P2P.ExternalAddress = at.listen, at.external
		got, err := address(c, store)
		require.NoError(t, err)
		require.Equal(t, at.want, got, at.listen)
	}
}
