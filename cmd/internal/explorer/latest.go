package explorer

import (
	"context"
	"errors"
	"sync"

	"github.com/spdl/spdl/internal/memo"
)

// latest caches values that follow from the state, until the next look at the chain. A value is
// computed once a look, however many clients ask for it at the same time.
type latest[V any] struct {
	mu     sync.Mutex
	look   uint64
	values *memo.Bounded[string, V]
}

// newLatest returns a cache of values that weigh at most max together.
func newLatest[V any](max int, weigh func(V) int) *latest[V] {
	return &latest[V]{values: memo.NewWeighed[string](max, weigh)}
}

// get returns the value of a name since a look, computed if it is not cached; a caller with an older
// look gets the newer value. If the client that computes goes away, another one computes.
func (l *latest[V]) get(ctx context.Context, look uint64, name string, compute func() (V, error)) (V, error) {
	l.begin(look)
	for {
		value, err := l.values.Get(name, compute)
		if !errors.Is(err, context.Canceled) || ctx.Err() != nil {
			return value, err
		}
	}
}

// begin drops the values of earlier looks.
func (l *latest[V]) begin(look uint64) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if look > l.look {
		l.look = look
		l.values.Clear()
	}
}

// one is the weight of a value in a cache that counts values.
func one(any) int { return 1 }
