package node

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestCometBFTSaysSo: the module's source has each text that this package compares with.
func TestCometBFTSaysSo(t *testing.T) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "github.com/cometbft/cometbft").Output()
	require.NoError(t, err)
	var source strings.Builder
	for _, folder := range []string{"consensus", "blocksync", "node", "state", "store", "types", "statesync", "p2p"} {
		require.NoError(t, filepath.WalkDir(filepath.Join(strings.TrimSpace(string(dir)), folder),
			func(path string, d fs.DirEntry, err error) error {
				if err != nil || d.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
					return err
				}
				text, err := os.ReadFile(path)
				source.Write(text)
				return err
			}))
	}
	for _, said := range append([]string{saidHalted, saidInvalid, saidSyncFailed, saidCommittedInvalid, saidWrongHeader,
		saidFuture, saidNotDialed, saidPeerStopped, genesisKey}, disagreements...) {
		require.Contains(t, strings.ToLower(source.String()), strings.ToLower(said))
	}
}
