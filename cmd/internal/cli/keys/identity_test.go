package keys

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/cometbft/cometbft/config"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/home"
)

func TestAddress(t *testing.T) {
	made, err := home.Init(filepath.Join(t.TempDir(), "reached"), home.DefaultConfig(), home.DefaultAppConfig())
	require.NoError(t, err)
	home, id := made.Dir, string(made.NodeID)
	for _, at := range []struct{ listen, external, want string }{
		{"tcp://0.0.0.0:26656", "", ""},
		{"tcp://127.0.0.1:26656", "", ""},
		{"tcp://[::]:26656", "", ""},
		{"tcp://:26656", "", ""},
		{"tcp://10.0.0.7:26656", "", id + "@10.0.0.7:26656"},
		{"tcp://0.0.0.0:26656", "node.example:443", id + "@node.example:443"},
		{"tcp://0.0.0.0:26656", "tcp://node.example:443", id + "@node.example:443"},
	} {
		c := config.DefaultConfig().SetRoot(home)
		c.P2P.ListenAddress, c.P2P.ExternalAddress = at.listen, at.external
		got, err := address(c)
		require.NoError(t, err)
		require.Equal(t, at.want, got, at.listen)
	}
}

// TestConsensusKeyNames: a key file that other readers could read otherwise is refused.
func TestConsensusKeyNames(t *testing.T) {
	made, err := home.Init(filepath.Join(t.TempDir(), "named"), home.DefaultConfig(), home.DefaultAppConfig())
	require.NoError(t, err)
	path := filepath.Join(made.Dir, "config", "priv_validator_key.json")
	_, err = ConsensusKey(path)
	require.NoError(t, err)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	for says, bad := range map[string][]byte{
		"priv_key is given twice": bytes.Replace(text, []byte("{"), []byte(`{"priv_key": null, `), 1),
		`name "Priv_Key"`:         bytes.Replace(text, []byte(`"priv_key"`), []byte(`"Priv_Key"`), 1),
	} {
		require.NoError(t, os.WriteFile(path, bad, 0o600))
		_, err = ConsensusKey(path)
		require.ErrorContains(t, err, says)
	}
}
