package explorer

import (
	"context"
	"errors"
	"sync"
)

// latest caches values that follow from the state, until the next look at the chain. A value is
// computed once a look, however many clients ask for it at the same time.
type latest[V any] struct {
	limit int // max sum of the weights of cached values

	mu    sync.Mutex
	since *made[V]
}

// made holds the values computed since a look.
type made[V any] struct {
	look   uint64
	kept   *kept[string, V]
	making map[string]*making[V]
}

// making is a value that one client computes while others wait for it.
type making[V any] struct {
	done  chan struct{} // closed when value and err are set
	value V
	err   error
}

// errMaker reports a computation that ended without a result, as by a panic.
var errMaker = errors.New("the answer was not made")

// get returns the value of a name since a look, computed if it is not cached. An error is returned
// to all waiting clients and not cached. If the client that computes goes away, another one
// computes.
func (p *latest[V]) get(ctx context.Context, look uint64, name string, make func() (value V, weight int, err error)) (V,
	error) {
	for {
		since, m, mine, value := p.begin(look, name)
		if m == nil {
			return value, nil
		}
		if mine {
			p.finish(since, name, m, make)
			return m.value, m.err
		}
		select {
		case <-m.done:
			if !errors.Is(m.err, context.Canceled) {
				return m.value, m.err
			}
		case <-ctx.Done():
			return value, ctx.Err()
		}
	}
}

// begin returns the value if it is cached. Otherwise m is being computed, by the caller if mine is
// set.
func (p *latest[V]) begin(look uint64, name string) (since *made[V], m *making[V], mine bool, value V) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.since == nil || p.since.look < look {
		p.since = &made[V]{look, newKept[string, V](p.limit), map[string]*making[V]{}}
	}
	since = p.since // a caller with an older look gets the newer value
	if value, ok := since.kept.get(name); ok {
		return since, nil, false, value
	}
	if m = since.making[name]; m != nil {
		return since, m, false, value
	}
	m = &making[V]{done: make(chan struct{}), err: errMaker}
	since.making[name] = m
	return since, m, true, value
}

// finish computes a value, caches it, and wakes the waiting clients.
func (p *latest[V]) finish(since *made[V], name string, m *making[V], make func() (V, int, error)) {
	weight := 0
	defer func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(since.making, name)
		if m.err == nil {
			since.kept.put(name, m.value, weight)
		}
		close(m.done)
	}()
	m.value, weight, m.err = make()
}

// forget drops all values.
func (p *latest[V]) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.since = nil
}

// writtenBytes bounds the bytes of pages and answers cached between two looks at the chain.
const writtenBytes = 8 << 20
