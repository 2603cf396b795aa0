package app_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/privacy/floor"
)

// TestNormFloor: G6 rejects vectors without noise, and vectors that are too long, in the pool. The
// bounds depend on the number of the participant's releases, and on whether a batch is sampled: one that
// is not has a known size.
func TestNormFloor(t *testing.T) {
	const sampled = 1 + 8/38.72983346207417
	for rate, signal := range map[float64]float64{0.1: sampled, 0.999: sampled, 1: 1, 0: 1} {
		t.Run(fmt.Sprint(rate), func(t *testing.T) { checkNorms(t, rate, signal) })
	}
}

func checkNorms(t *testing.T, rate, signal float64) {
	const step = 0.002 // so that the bounds of the signals lie several q apart
	s := apptest.State(4, apptest.Noisy, func(p *params.Params) {
		p.Privacy.SamplingRate, p.Privacy.NoiseMultiplier, p.Grid.Step = rate, 60, step
	})
	noise := floor.Noise{Std: 60.0 / 1500, Momentum: 0.9, Signal: signal, Step: step, Dim: 1970}
	least, greatest := noise.Bounds(1, 1)
	send := func(q int64) error {
		v := gradients.NewVector(gradients.Int8, 1970)
		for i := range v.Len() {
			v.Set(i, q)
		}
		return s.Admit(apptest.Sign(1, &tx.Gradient{Participant: 1, Payload: v.Encode(), VrfProof: apptest.Proof(s, 1)}))
	}
	for q := int64(0); q <= 127; q++ {
		norm := 1970 * q * q
		if norm < least || norm > greatest {
			require.ErrorIs(t, send(q), app.ErrNorm, "q = %d", q)
		} else {
			require.NoError(t, send(q), "q = %d", q)
		}
	}
	require.Error(t, send(0), "no vector of zeros")
	require.Error(t, send(1), "no vector without noise")
}
