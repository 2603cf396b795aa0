// Package memo has a cache for computed values.
package memo

import (
	"errors"
	"sync"

	"github.com/hashicorp/golang-lru/v2/simplelru"
)

// errPanic marks an entry whose computation has panicked.
var errPanic = errors.New("the computation panicked")

// Bounded caches the values of the most recently used keys, up to a total weight. It computes each
// value once, also if several callers request it at the same time. All of them get an error of the
// computation, which is not cached. All methods may be called concurrently.
type Bounded[K comparable, V any] struct {
	mu     sync.Mutex
	lru    *LRU[K, *entry[V]]
	weigh  func(V) int // at least 1
	max    int
	weight int // of all values
}

// entry is a value and its computation. done is closed when the computation has ended.
type entry[V any] struct {
	done   chan struct{}
	value  V
	err    error
	weight int // 0 until it is computed
}

// New returns a cache of at most max values. max is at least 1.
func New[K comparable, V any](max int) *Bounded[K, V] {
	return NewWeighed[K](max, func(V) int { return 1 })
}

// NewWeighed returns a cache of values whose total weight is at most max, which is at least 1. weigh returns the weight
// of a value, at least 1. A value that alone weighs more than max is not cached.
func NewWeighed[K comparable, V any](max int, weigh func(V) int) *Bounded[K, V] {
	b := &Bounded[K, V]{weigh: weigh, max: max}
	b.lru = NewLRU(max, func(_ K, e *entry[V]) { b.weight -= e.weight })
	return b
}

// LRU is a map that drops the entry that was added or read least recently. Peek does not count as a read. The caller
// guards the map.
type LRU[K comparable, V any] = simplelru.LRU[K, V]

// NewLRU returns a map of at most max entries, at least 1. dropped, which may be nil, gets each entry that leaves.
func NewLRU[K comparable, V any](max int, dropped func(K, V)) *LRU[K, V] {
	lru, err := simplelru.NewLRU(max, simplelru.EvictCallback[K, V](dropped))
	if err != nil {
		panic(err) // of a max below 1
	}
	return lru
}

// Get returns the value of a key. If the value is not cached, compute computes it. If compute
// panics, so does Get, and another caller that waits for the value computes it.
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

// entry returns the entry of a key, and whether the caller must compute its value.
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

// settle weighs a computed value, and evicts others until the total weight is at most max.
func (b *Bounded[K, V]) settle(key K, e *entry[V]) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if now, ok := b.lru.Peek(key); !ok || now != e {
		return // the entry was evicted or replaced during the computation
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

// Cached returns the value of a key if it is cached. It does not wait for a computation.
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

// Retain drops the values for which keep returns false. It keeps entries whose computation has not ended.
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
