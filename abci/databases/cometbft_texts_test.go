package databases

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/internal/stage"
)

// TestCometBFTSaysSo: the module's source has each text that this package compares with.
func TestCometBFTSaysSo(t *testing.T) {
	source := stage.CometBFT(t, "consensus", "node", "state", "store")
	for _, said := range append(disagreements, genesisKey) {
		require.Contains(t, source, said)
	}
}
