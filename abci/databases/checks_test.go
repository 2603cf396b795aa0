package databases

import (
	"testing"

	cmtnode "github.com/cometbft/cometbft/node"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/abci/store"
)

// TestBuildPanics: CometBFT's panic about damaged bytes becomes the error of the damaged database, and any other panic
// the error of databases that disagree.
func TestBuildPanics(t *testing.T) {
	damage := store.Damage("blockstore", "checksum mismatch")
	for _, c := range []struct {
		panics any
		want   error
	}{{damage, store.ErrDamage}, {"state (154) and store (0) height mismatch", ErrDisagree}} {
		n, err := Build(home.DefaultConfig(), func() (*cmtnode.Node, error) { panic(c.panics) })
		require.Nil(t, n)
		require.ErrorIs(t, err, c.want)
		require.ErrorContains(t, err, "spdl reset-state --yes")
	}
}
