// Package memo has the cache of computed values.
package memo

import (
	"errors"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// errPanic marks an entry whose computation has panicked.
var errPanic = errors.New("the computation panicked")

// Bounded caches the values of the most recently used keys, up to a total weight. Each value is
// computed once, however many callers ask for it at the same time. An error is returned to all of
// them and not cached. All methods may be called concurrently.
type Bounded[K comparable, V any] struct {
	mu     sync.Mutex
	lru    *simplelru.LRU[K, *entry[V]]
	weigh  func(V) int // at least 1
	max    int
	weight int // of all values
}

// entry is a value that is computed, or was: done is closed then.
type entry[V any] struct {
	done   chan struct{}
	value  V
	err    error
	weight int // 0 until it is computed
}

// New returns a cache of at most max values, at least 1.
func New[K comparable, V any](max int) *Bounded[K, V] {
	return NewWeighed[K](max, func(V) int { return 1 })
}

// NewWeighed returns a cache of values that weigh at most max together, at least 1. A value that
// weighs more alone is not cached; weigh returns at least 1.
func NewWeighed[K comparable, V any](max int, weigh func(V) int) *Bounded[K, V] {
	b := &Bounded[K, V]{weigh: weigh, max: max}
	lru, err := simplelru.NewLRU(max, func(_ K, e *entry[V]) { b.weight -= e.weight })
	if err != nil {
		panic(err) // of a max below 1
	}
	b.lru = lru
	return b
}

// Get returns the value of a key, computed by compute if it is not cached. If compute panics, so
// does Get, and other callers that wait for the value compute it again.
func (b *Bounded[K, V]) Get(key K, compute func() (V, error)) (V, error) {
	for {
		e, mine := b.entry(key)
		if mine {
			b.fill(key, e, compute)
			return e.value, e.err
		}
		<-e.done
		if !errors.Is(e.err, errPanic) {
			return e.value, e.err
		}
	}
}

// entry returns the entry of a key, and whether the caller has to fill it.
func (b *Bounded[K, V]) entry(key K) (e *entry[V], mine bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if e, ok := b.lru.Get(key); ok {
		return e, false
	}
	e = &entry[V]{done: make(chan struct{})}
	b.lru.Add(key, e)
	return e, true
}

func (b *Bounded[K, V]) fill(key K, e *entry[V], compute func() (V, error)) {
	e.err = errPanic
	defer func() {
		if e.err != nil {
			b.remove(key, e)
		}
		close(e.done)
	}()
	if e.value, e.err = compute(); e.err == nil {
		b.settle(key, e)
	}
}

// settle weighs a computed value, and evicts others until all weigh at most max.
func (b *Bounded[K, V]) settle(key K, e *entry[V]) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now, ok := b.lru.Peek(key); !ok || now != e {
		return // evicted, or replaced, while it was computed
	}
	e.weight = b.weigh(e.value)
	if b.weight += e.weight; e.weight > b.max {
		b.lru.Remove(key)
	}
	for b.weight > b.max {
		b.lru.RemoveOldest()
	}
}

func (b *Bounded[K, V]) remove(key K, e *entry[V]) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now, ok := b.lru.Peek(key); ok && now == e {
		b.lru.Remove(key)
	}
}

// Cached returns the value of a key if it is cached, without waiting for one that is being
// computed.
func (b *Bounded[K, V]) Cached(key K) (value V, ok bool) {
	b.mu.Lock()
	e, ok := b.lru.Get(key)
	b.mu.Unlock()
	if !ok {
		return value, false
	}
	select {
	case <-e.done:
		return e.value, e.err == nil
	default:
		return value, false
	}
}

// Put caches a value that the caller has computed.
func (b *Bounded[K, V]) Put(key K, value V) {
	e := &entry[V]{done: make(chan struct{}), value: value}
	close(e.done)
	b.mu.Lock()
	b.lru.Remove(key)
	b.lru.Add(key, e)
	b.mu.Unlock()
	b.settle(key, e)
}

// Retain drops the values for which keep returns false. It drops none that is being computed.
func (b *Bounded[K, V]) Retain(keep func(K, V) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, key := range b.lru.Keys() {
		e, _ := b.lru.Peek(key)
		select {
		case <-e.done:
			if !keep(key, e.value) {
				b.lru.Remove(key)
			}
		default:
		}
	}
}

// Clear drops all values.
func (b *Bounded[K, V]) Clear() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.lru.Purge()
}

// Len returns the number of cached values.
func (b *Bounded[K, V]) Len() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.lru.Len()
}
