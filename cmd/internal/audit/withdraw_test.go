package audit_test

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/cmd/internal/audit"
)

// TestWithdraw: the last model without a participant is the one before its first gradient, here
// the initial one; a restart repeats every round since, and costs the others the epsilon of these
// rounds on top of what they spent.
func TestWithdraw(t *testing.T) {
	c := newChain(t, 5)
	c.add()
	initial := app.ModelHash(c.state.Model)
	c.close(3)
	w, _, err := audit.RunWithdraw(t.Context(), c.source(), audit.Options{}, 4)
	require.NoError(t, err)
	require.True(t, w.Active)
	require.Nil(t, w.Left)
	require.True(t, w.Clean.Initial)
	require.Equal(t, hex.EncodeToString(initial[:]), w.Clean.Hash)
	require.Equal(t, uint64(3), w.Gradients)
	require.Equal(t, uint64(3), w.Repeat)
	require.Len(t, w.Others, 4)
	for _, p := range w.Others {
		require.Equal(t, uint64(3), p.Rounds)
	}

	// it leaves: the boundary of the next round ends its membership, and later models still hold
	// what it taught them
	c.add(apptest.Sign(4, &tx.Remove{Participant: 4, Subject: 4, Nonce: 1}))
	c.close(3)
	w, _, err = audit.RunWithdraw(t.Context(), c.source(), audit.Options{}, 4)
	require.NoError(t, err)
	require.False(t, w.Active)
	require.NotNil(t, w.Left)
	require.Equal(t, c.records[w.Last.Round].Height, *w.Left)
	require.Equal(t, uint64(6), w.Repeat)
	require.Equal(t, uint64(6)-w.Gradients, w.RoundsAfter)
	require.Positive(t, w.RoundsAfter)
	hash := app.ModelHash(c.state.Model)
	require.Equal(t, hex.EncodeToString(hash[:]), w.Now.Hash)

	_, _, err = audit.RunWithdraw(t.Context(), c.source(), audit.Options{}, 5)
	require.ErrorIs(t, err, audit.ErrParticipant)
}
