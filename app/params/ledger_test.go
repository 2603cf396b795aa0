package params_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/params"
)

func TestLedgerRefuses(t *testing.T) {
	for says, mutate := range map[string]func(*params.Params){
		"pay for one":  apptest.Budgeted(0),
		"want above 0": func(p *params.Params) { apptest.Budgeted(3)(p); p.Privacy.Delta = 0 },
		"entries":      func(p *params.Params) { apptest.Budgeted(3)(p); p.Privacy.Cost = p.Privacy.Cost[1:] },
		"budget 46 entries, want 48, or 47": func(p *params.Params) {
			apptest.Budgeted(3)(p)
			p.Privacy.Cost, p.Privacy.Budget = p.Privacy.Cost[2:], p.Privacy.Budget[2:]
		},
		"privacy.cost[2] is 0": func(p *params.Params) { apptest.Budgeted(3)(p); p.Privacy.Cost[2] = 0 },
		"budget[3]":            func(p *params.Params) { apptest.Budgeted(3)(p); p.Privacy.Budget[3] = 1 << 53 },
		"a budget needs": func(p *params.Params) {
			apptest.Budgeted(3)(p)
			p.Privacy.Mechanism, p.Privacy.NoiseMultiplier = "none", 0
		},
		"privacy.noise_floor wi": func(p *params.Params) {
			p.Privacy.NoiseFloor, p.Privacy.Mechanism, p.Privacy.NoiseMultiplier = true, "none", 0
		},
	} {
		_, err := apptest.Params(4, mutate).Validate(4)
		require.ErrorContains(t, err, says)
	}
	warnings, err := apptest.Params(4, apptest.Budgeted(3)).Validate(4)
	require.NoError(t, err)
	require.Contains(t, warnings[len(warnings)-1], "pays for 3 of training.rounds 50")
}

// TestLedgerOfAnEarlierVersion: costs and spends of before version 7 have no column of mu², and are as
// valid as they were. What they did not count is never paid there.
func TestLedgerOfAnEarlierVersion(t *testing.T) {
	p := apptest.Params(4, apptest.Budgeted(3)).Privacy
	p.Budget[47] = 1 << 52
	require.Equal(t, (uint64(1)<<52)/p.Cost[47], p.Participations(nil))
	old := p
	old.Cost, old.Budget = p.Cost[:47], p.Budget[:47]
	require.NoError(t, old.ValidateLedger())
	require.Equal(t, uint64(3), old.Participations(nil))

	require.Equal(t, uint64(3), p.Participations(make([]uint64, 47)), "of a column that was not counted nothing is left")
	require.Equal(t, old.Cost, old.Pay(nil), "the states of a chain that stays as it was are what they were")
	for _, spent := range [][]uint64{p.Pay(make([]uint64, 47)), old.Pay(p.Pay(nil)), p.Pay(old.Pay(nil))} {
		require.Len(t, spent, params.LedgerColumns)
		require.Equal(t, uint64(1)<<53, spent[47])
		require.Less(t, p.Participations(spent), uint64(3))
	}
}

// TestPayFor: paying for several rounds is paying for each, and no sum wraps around.
func TestPayFor(t *testing.T) {
	p := apptest.Params(4, apptest.Budgeted(3)).Privacy
	p.Cost[0], p.Cost[1] = 1<<53, 1<<52-1
	spent := []uint64(nil)
	for rounds := range uint64(6) {
		require.Equal(t, p.PayFor(nil, rounds), p.PayFor(spent, 0))
		spent = p.Pay(spent)
	}
	require.Equal(t, uint64(1)<<53, spent[0])
	require.Equal(t, uint64(1)<<53, p.PayFor(spent, 1<<63)[47])
	p.Budget[0] = 1 << 60 // as a state of version 6 may have
	require.Zero(t, params.Privacy{Cost: p.Cost[:1], Budget: p.Budget[:1]}.Participations(spent[:1]))
	p.Cost = nil
	require.Equal(t, spent, p.PayFor(spent, 7))
}
