package internal_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/internal/wait"
)

// TestWaitFor: a pause ends after its time, and at once with the context, also a pause of no time.
func TestWaitFor(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	start := time.Now()
	require.NoError(t, wait.For(ctx, 20*time.Millisecond))
	require.GreaterOrEqual(t, time.Since(start), 20*time.Millisecond)
	require.NoError(t, wait.For(ctx, 0))
	cancel()
	require.ErrorIs(t, wait.For(ctx, time.Hour), context.Canceled)
	require.ErrorIs(t, wait.For(ctx, 0), context.Canceled, "a loop without a pause ends too")
}
