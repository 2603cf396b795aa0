package history

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
)

// TestDeltaNorm: Delta is found again in the models between which it leads, with momentum and with sums, whose
// models begin at the epoch's first.
func TestDeltaNorm(t *testing.T) {
	after := &app.State{Model: []float64{1 - 0.5*3, 2 - 0.5*4}}
	for name, c := range map[string]struct {
		p      params.Params
		before app.State
	}{
		"plain": {params.Params{}, app.State{Model: []float64{1, 2}}},
		"momentum": {params.Params{Training: params.Training{Momentum: 0.5}},
			app.State{Model: []float64{2, 3}, Velocity: []float64{4, 4}}},
		"sums": {params.Params{Privacy: params.Privacy{WorkerMomentum: 1}},
			app.State{Model: []float64{7, 7}, Velocity: []float64{1, 2}}},
	} {
		c.p.Training.LearningRate = 0.5
		require.InDelta(t, 5, deltaNorm(c.p, &c.before, after), 1e-12, name)
	}
}
