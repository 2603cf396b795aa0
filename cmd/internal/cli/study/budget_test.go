package study

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/privacy/accountant"
)

// TestAfterSpend: an error about the budget has what was spent before, where the chain knows it.
func TestAfterSpend(t *testing.T) {
	spent, other := 1.5, errors.New("other")
	short := fmt.Errorf("--epsilon 1 %w for 3 rounds", ErrBudget)
	require.EqualError(t, AfterSpend(short, &spent), "--epsilon 1 does not pay for 3 rounds; it is the budget over all "+
		"epochs, of which participants have spent up to epsilon 1.500 before")
	require.ErrorIs(t, AfterSpend(short, &spent), ErrBudget)
	require.Equal(t, short, AfterSpend(short, nil))
	require.Equal(t, other, AfterSpend(other, &spent))
}

// TestCheckBudgets: the warning has what the poorest member has spent before, and the budget that pays for all rounds.
func TestCheckBudgets(t *testing.T) {
	p, err := preset.New("default", 4)
	require.NoError(t, err)
	rounds := p.Training.Rounds
	spent := func(rounds uint64) []uint64 { return p.Privacy.PayFor(nil, rounds) }
	members := []app.Participant{{Index: 0, Active: true}, {Index: 1, Active: true, Spent: spent(rounds / 2)},
		{Index: 2, Spent: spent(rounds)}, {Index: 3, Active: true, Spent: spent(rounds / 4)}}
	warning, broke, err := CheckBudgets(members[:1], p)
	require.NoError(t, err)
	require.Empty(t, warning)
	require.Empty(t, broke)
	warning, broke, err = CheckBudgets(members, p)
	require.NoError(t, err)
	require.Empty(t, broke)
	before, err := preset.EpsilonAfter(p.Privacy, rounds/2)
	require.NoError(t, err)
	require.Contains(t, warning, "participants [1 3] have spent so much")
	require.Contains(t, warning, fmt.Sprintf("participant 1, which has spent epsilon %s before, and for all of them "+
		"needs ", accountant.Text(before)))
	var need float64
	_, rest, _ := strings.Cut(warning, "needs ")
	_, err = fmt.Sscanf(rest, "%f", &need)
	require.NoError(t, err)
	p.Privacy.Epsilon = need
	p.Privacy.Budget, err = accountant.ChainBudget(need, p.Privacy.Delta)
	require.NoError(t, err)
	warning, _, err = CheckBudgets(members, p)
	require.NoError(t, err)
	require.Empty(t, warning, "the budget that the warning names pays for all rounds")
	members[2].Active, members[2].Spent = true, spent(1<<20)
	_, broke, err = CheckBudgets(members, p)
	require.NoError(t, err)
	require.Equal(t, []uint32{2}, broke)
}
