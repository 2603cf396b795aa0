package app_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/privacy/floor"
)

// TestNormFloor: G6 rejects vectors without noise, and vectors that are too long, in the pool. The
// bounds depend on the number of the participant's releases.
func TestNormFloor(t *testing.T) {
	s := apptest.State(4, apptest.Noisy)
	noise := floor.Noise{Std: 2.67 / 1500, Momentum: 0.9, Signal: 1 + 8/38.72983346207417, Step: 5.1e-5, Dim: 1970}
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
