package study

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/worker/trainer"
)

// TestInterruptedCheck: a check that is interrupted has refuted nothing but what it found until then.
func TestInterruptedCheck(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	require.NoError(t, verdict(ctx, trainer.Report{}))
	cancel()
	require.EqualError(t, verdict(ctx, trainer.Report{}), "interrupted; nothing was found until then")
	require.EqualError(t, verdict(ctx, trainer.Report{Refuted: true}), "interrupted; what is above was found until then")
}
