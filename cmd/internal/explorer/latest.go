package explorer

import (
	"context"
	"errors"
	"sync"
)

// latest keeps what follows from the state, since the last look at the chain: however many clients
// ask at once, it is made once a look.
type latest[V any] struct {
	limit int // of the weights that are kept

	mu    sync.Mutex
	since *made[V]
}

// made is what was made since a look.
type made[V any] struct {
	look   uint64
	kept   *kept[string, V]
	making map[string]*making[V]
}

// making is what one client makes while others wait for it.
type making[V any] struct {
	done  chan struct{} // closed when value and err are there
	value V
	err   error
}

// errMaker means that who made something gave up without an answer, as in a panic.
var errMaker = errors.New("the answer was not made")

// get returns what has a name since a look, and makes it where nobody has. Errors are shared with
// those who wait, and not kept. If the maker's client goes away, another one makes it.
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

// begin returns the value where it is kept. Otherwise m is being made, by the caller if it is mine.
func (p *latest[V]) begin(look uint64, name string) (since *made[V], m *making[V], mine bool, value V) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.since == nil || p.since.look < look {
		p.since = &made[V]{look, newKept[string, V](p.limit), map[string]*making[V]{}}
	}
	since = p.since // an asker that is behind gets what is newer
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

// finish makes a value and gives it to those who wait.
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

// forget lets go of everything.
func (p *latest[V]) forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.since = nil
}

// writtenBytes bounds the pages and answers that are kept between two looks at the chain.
const writtenBytes = 8 << 20
