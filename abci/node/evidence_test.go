package node

import (
	"testing"
	"time"

	"github.com/cometbft/cometbft/libs/log"
	"github.com/cometbft/cometbft/privval"
	"github.com/cometbft/cometbft/types"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/databases"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/internal/stage"
)

// TestEvidenceFloodEndsInThePool: a validator signs 300 valid pieces of evidence against itself.
// The pool of a running node takes one piece and rejects the others with the reason. After the
// piece has convicted the validator, the pool rejects every piece, and the chain makes further
// blocks.
func TestEvidenceFloodEndsInThePool(t *testing.T) {
	t.Parallel()
	stage.NotShort(t, "runs a node")
	c, a := alone(t, 100_000)
	r, err := Start(c, a, log.NewNopLogger(), Hooks{})
	require.NoError(t, err)
	require.Eventually(t, func() bool { return r.Node.BlockStore().Height() >= 3 }, time.Minute, time.Millisecond)
	pv := privval.LoadFilePV(c.PrivValidatorKeyFile(), c.PrivValidatorStateFile())
	header := r.Node.BlockStore().LoadBlockMeta(2).Header
	key := types.NewMockPVWithParams(pv.Key.PrivKey, false, false)
	piece := func() types.Evidence { // votes for two random blocks
		e, err := types.NewMockDuplicateVoteEvidenceWithValidator(2, header.Time, key, header.ChainID)
		require.NoError(t, err)
		e.TotalVotingPower, e.ValidatorPower = app.Power, app.Power
		return e
	}
	pool, taken := r.Node.EvidencePool(), 0
	for range 300 {
		if err := pool.AddEvidence(piece()); err == nil {
			taken++
		} else {
			require.ErrorIs(t, err, databases.ErrNeedless)
		}
		require.LessOrEqual(t, pool.Size(), uint32(1))
	}
	require.Equal(t, 1, taken)
	require.Eventually(t, func() bool { return len(r.Application.State().Offences) == 1 }, time.Minute, time.Millisecond)
	// CometBFT tells its pool of a block after the application has committed it; until then the error
	// names the pending piece.
	require.Eventually(t, func() bool { return pool.Size() == 0 }, time.Minute, time.Millisecond)
	require.ErrorContains(t, pool.AddEvidence(piece()), "on the list of offences")
	height := r.Node.BlockStore().Height()
	require.Eventually(t, func() bool { return r.Node.BlockStore().Height() > height+2 }, time.Minute, time.Millisecond)
	require.NoError(t, r.Stop())
}
