package params_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/params"
)

func TestLedgerRefuses(t *testing.T) {
	for says, mutate := range map[string]func(*params.Params){
		"pay for one":          apptest.Budgeted(0),
		"want above 0":         func(p *params.Params) { apptest.Budgeted(3)(p); p.Privacy.Delta = 0 },
		"entries":              func(p *params.Params) { apptest.Budgeted(3)(p); p.Privacy.Cost = p.Privacy.Cost[1:] },
		"privacy.cost[2] is 0": func(p *params.Params) { apptest.Budgeted(3)(p); p.Privacy.Cost[2] = 0 },
		"budget[3]":            func(p *params.Params) { apptest.Budgeted(3)(p); p.Privacy.Budget[3] = 1 << 63 },
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
