package chainview

import (
	"context"
	"errors"
	"sync"

	"github.com/spdl/spdl/internal/memo"
)

// Latest caches values that follow from the state, until the next look at the chain. It computes a
// value once per look, even if many clients ask for it at the same time.
type Latest[V any] struct {
	mu     sync.Mutex
	look   uint64
	values *memo.Bounded[string, V]
}

// NewLatest returns a cache whose values weigh at most max together.
func NewLatest[V any](max int, weigh func(V) int) *Latest[V] {
	return &Latest[V]{values: memo.NewWeighed[string](max, weigh)}
}

// Get returns the value of a name at a look, and computes it if it is not cached. A caller with an older look gets the
// newer value. If the client whose request computes the value disconnects, another request computes it.
func (l *Latest[V]) Get(ctx context.Context, look uint64, name string, compute func() (V, error)) (V, error) {
	l.mu.Lock()
	if look > l.look { // drop the values of earlier looks
		l.look = look
		l.values.Clear()
	}
	l.mu.Unlock()
	for {
		value, err := l.values.Get(name, compute)
		if !errors.Is(err, context.Canceled) || ctx.Err() != nil {
			return value, err
		}
	}
}
