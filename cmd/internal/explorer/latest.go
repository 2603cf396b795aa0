package explorer

import (
	"context"
	"errors"
	"sync"

	"github.com/spdl/spdl/internal/memo"
)

// latest caches values that follow from the state, until the next look at the chain. It computes a
// value once per look, even if many clients ask for it at the same time.
type latest[V any] struct {
	mu     sync.Mutex
	look   uint64
	values *memo.Bounded[string, V]
}

// newLatest returns a cache whose values weigh at most max together.
func newLatest[V any](max int, weigh func(V) int) *latest[V] {
	return &latest[V]{values: memo.NewWeighed[string](max, weigh)}
}

// get returns the value of a name at a look, and computes it if it is not cached. A caller with an
// older look gets the newer value. If the client whose request computes the value disconnects,
// another request computes it.
func (l *latest[V]) get(ctx context.Context, look uint64, name string, compute func() (V, error)) (V, error) {
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

// one is the weight of each value in a cache that counts values.
func one(any) int { return 1 }
