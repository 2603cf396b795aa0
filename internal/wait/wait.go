// Package wait pauses a goroutine.
package wait

import (
	"context"
	"time"
)

// For returns nil after d, or the error of ctx if ctx ends first, or has ended and d is 0.
func For(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return ctx.Err()
	}
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
