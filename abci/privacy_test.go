package abci_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/preset"
)

// TestSpends: an incomplete ledger gives no epsilon, and on a test chain epsilon is no guarantee.
func TestSpends(t *testing.T) {
	private, err := preset.New("default", 4)
	require.NoError(t, err)
	open, err := preset.New("paper", 4)
	require.NoError(t, err)
	spend := func(change func(*app.State)) query.Spend {
		s := &app.State{Params: private, Participants: []app.Participant{{Active: true, Spent: private.Privacy.Pay(nil)}}}
		change(s)
		all, err := query.Spends(s)
		require.NoError(t, err)
		return all[0]
	}
	holds := spend(func(*app.State) {})
	require.True(t, holds.Guarantee)
	require.Positive(t, *holds.Epsilon)

	rehearsed := spend(func(s *app.State) { s.Params.TestChain = true })
	require.False(t, rehearsed.Guarantee)
	require.Equal(t, *holds.Epsilon, *rehearsed.Epsilon)

	lemma, err := preset.New("paper-lemma1", 4)
	require.NoError(t, err)
	claimed := spend(func(s *app.State) { s.Params, s.Participants[0].Spent = lemma, lemma.Privacy.Pay(nil) })
	require.Equal(t, 0.02, claimed.Lemma1Epsilon, "the claim, beside what is true")
	require.Equal(t, 0.15, claimed.Budget)
	require.Zero(t, holds.Lemma1Epsilon)

	for _, s := range []query.Spend{
		spend(func(s *app.State) { s.Params = open }),
		spend(func(s *app.State) { s.Epochs = []app.Epoch{{Params: open, Rounds: 20}} }),
	} {
		require.False(t, s.Guarantee)
		require.Nil(t, s.Epsilon)
		require.Nil(t, s.Left)
	}
}
