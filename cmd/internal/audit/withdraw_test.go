package audit_test

import (
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/cmd/internal/audit"
)

// TestWithdraw: the last model without a participant is the one before its first gradient, here
// the initial one; a restart repeats every round since, and costs the others the epsilon of these
// rounds on top of what they spent.
func TestWithdraw(t *testing.T) {
	c := newChain(t, 5)
	c.Add()
	initial := app.ModelHash(c.State.Model)
	c.Close(3)
	w, _, err := audit.RunWithdraw(t.Context(), c.Source(), audit.Options{}, 4)
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
	c.Add(apptest.Sign(4, &tx.Remove{Participant: 4, Subject: 4, Nonce: 1}))
	c.Close(3)
	w, _, err = audit.RunWithdraw(t.Context(), c.Source(), audit.Options{}, 4)
	require.NoError(t, err)
	require.False(t, w.Active)
	require.NotNil(t, w.Left)
	require.Equal(t, c.Records[w.Last.Round].Height, *w.Left)
	require.Equal(t, uint64(6), w.Repeat)
	require.Equal(t, uint64(6)-w.Gradients, w.RoundsAfter)
	require.Positive(t, w.RoundsAfter)
	hash := app.ModelHash(c.State.Model)
	require.Equal(t, hex.EncodeToString(hash[:]), w.Now.Hash)

	_, _, err = audit.RunWithdraw(t.Context(), c.Source(), audit.Options{}, 5)
	require.ErrorIs(t, err, audit.ErrParticipant)
}

// paid gives each participant the budget of 8 gradients by the accountant.
func paid(p *params.Params) {
	p.Training.Rounds, p.Privacy.Delta = 8, 1e-6
	if err := preset.Account(p); err != nil {
		panic(err)
	}
	p.Training.Rounds = 50
}

// TestRestartIsPaid: repeating the rounds costs the others what twice as many gradients cost, and the
// report says whose budget does not pay for that.
func TestRestartIsPaid(t *testing.T) {
	c := newChain(t, 5, paid)
	c.Add()
	withdraw := func() *audit.Withdrawal {
		w, _, err := audit.RunWithdraw(t.Context(), c.Source(), audit.Options{}, 4)
		require.NoError(t, err)
		require.Len(t, w.Others, 4)
		return w
	}
	c.Close(3)
	early := withdraw().Others[0]
	require.Positive(t, *early.Spent)
	require.InDelta(t, *early.After-*early.Spent, *early.Added, 1e-12)
	require.LessOrEqual(t, *early.After, early.Budget)
	require.False(t, early.Beyond, "6 of 8 gradients are paid for")

	c.Close(3)
	late := withdraw().Others[0]
	require.Equal(t, *early.After, *late.Spent, "3 rounds and 3 repeated cost what 6 cost")
	require.Greater(t, *late.After, late.Budget)
	require.True(t, late.Beyond, "12 of 8 gradients are not")
	require.Less(t, *late.Added, 2**early.Added, "the accountant's epsilon grows more slowly than the rounds")
}

// TestLateJoiner: the last model without a participant that joined later is the one before its first
// gradient, and a restart repeats only the rounds since then.
func TestLateJoiner(t *testing.T) {
	c := newChain(t, 5, paid)
	c.Add()
	c.Close(2)
	join := apptest.Join(5)
	c.Add(join)
	for i := range 4 {
		c.Add(apptest.Approve(i, join))
	}
	c.Close(1) // its boundary ends with the new member
	require.Len(t, c.State.Participants, 6)
	c.Close(2)
	w, _, err := audit.RunWithdraw(t.Context(), c.Source(), audit.Options{}, 5)
	require.NoError(t, err)
	require.False(t, w.Clean.Initial)
	require.Equal(t, uint64(2), w.Clean.Round)
	require.Equal(t, hex.EncodeToString(c.Records[2].ModelHash), w.Clean.Hash)
	require.Equal(t, []uint64{2, 2, 0}, []uint64{w.Gradients, w.Repeat, w.RoundsAfter})
	require.Equal(t, uint64(3), w.First.Round)
	for _, other := range w.Others {
		require.Equal(t, uint64(2), other.Rounds)
		require.Less(t, *other.Added, *other.Spent, "2 rounds on top of 5")
		require.False(t, other.Beyond)
	}
}
