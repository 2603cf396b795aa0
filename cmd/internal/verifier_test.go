package internal_test

import (
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNothingButTheVerifier: what a browser downloads links neither the node's client, nor a database,
// nor the network, none of which builds there or is needed.
func TestNothingButTheVerifier(t *testing.T) {
	cmd := exec.Command("go", "list", "-deps", "./explorer/verifier")
	cmd.Env = append(os.Environ(), "GOOS=js", "GOARCH=wasm", "GOFLAGS=")
	out, err := cmd.Output()
	require.NoError(t, err)
	linked := strings.Fields(string(out))
	require.Contains(t, linked, "github.com/spdl/spdl/cmd/internal/modelfile")
	for _, pkg := range linked {
		for _, kept := range []string{"spdl/abci/client", "spdl/abci/store", "spdl/cmd/internal/audit", "leveldb",
			"cometbft/light", "cometbft/rpc"} {
			require.False(t, strings.HasSuffix(pkg, kept), "%s is linked: keep the file that imports it out of GOOS=js", pkg)
		}
	}
}
