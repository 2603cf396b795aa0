package node

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/internal/stage"
)

// TestCometBFTSaysSo: the module's source has each text that this package compares with.
func TestCometBFTSaysSo(t *testing.T) {
	source := stage.CometBFT(t, "consensus", "blocksync", "node", "state", "types", "statesync")
	for _, said := range []string{saidHalted, saidInvalid, saidSyncFailed, saidUnsigned, saidCommittedInvalid,
		saidWrongHeader, saidFuture} {
		require.Contains(t, source, said)
	}
}
