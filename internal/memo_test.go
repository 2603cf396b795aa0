package internal_test

import (
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/internal/memo"
)

// TestOnce: a value is computed once for all concurrent callers, other keys do not wait for it, and
// an error is not cached.
func TestOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memo.New[string, int](2)
		var computed atomic.Int64
		release := make(chan struct{})
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				v, err := b.Get("slow", func() (int, error) { computed.Add(1); <-release; return 7, nil })
				require.NoError(t, err)
				require.Equal(t, 7, v)
			})
		}
		synctest.Wait()
		_, ok := b.Cached("slow")
		require.False(t, ok, "it is being computed")
		v, err := b.Get("fast", func() (int, error) { return 1, nil })
		require.NoError(t, err)
		require.Equal(t, 1, v)
		close(release)
		wg.Wait()
		require.Equal(t, int64(1), computed.Load())

		failed := errors.New("failed")
		_, err = b.Get("bad", func() (int, error) { return 0, failed })
		require.ErrorIs(t, err, failed)
		v, err = b.Get("bad", func() (int, error) { return 3, nil })
		require.NoError(t, err)
		require.Equal(t, 3, v)
	})
}

// TestBounds: the least recently used value goes first; Retain and Clear drop what they should.
func TestBounds(t *testing.T) {
	b := memo.New[int, int](2)
	b.Put(1, 10)
	b.Put(2, 20)
	_, ok := b.Cached(1)
	require.True(t, ok)
	b.Put(3, 30)
	_, ok = b.Cached(2)
	require.False(t, ok)
	require.Equal(t, 2, b.Len())
	b.Retain(func(_, v int) bool { return v > 10 })
	require.Equal(t, 1, b.Len())
	b.Clear()
	require.Zero(t, b.Len())
	require.Panics(t, func() { memo.New[int, int](0) })
}

// TestPanic: a panic reaches the caller that computes, and another caller computes again.
func TestPanic(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := memo.New[int, int](1)
		started, release := make(chan struct{}), make(chan struct{})
		var wg sync.WaitGroup
		wg.Go(func() {
			require.Panics(t, func() {
				_, _ = b.Get(1, func() (int, error) { close(started); <-release; panic("no") })
			})
		})
		<-started
		wg.Go(func() {
			v, err := b.Get(1, func() (int, error) { return 5, nil })
			require.NoError(t, err)
			require.Equal(t, 5, v)
		})
		synctest.Wait()
		close(release)
		wg.Wait()
	})
}

// TestWeights: the values weigh at most the bound together, the longest unused ones go first, and one
// that is too heavy alone goes without the others.
func TestWeights(t *testing.T) {
	b := memo.NewWeighed[int](10, func(n int) int { return n })
	for key := range 4 {
		b.Put(key, 3)
	}
	require.Equal(t, 3, b.Len())
	_, ok := b.Cached(0)
	require.False(t, ok)
	b.Put(4, 11)
	require.Equal(t, 3, b.Len(), "too heavy")
	b.Put(1, 1)
	b.Put(5, 3)
	require.Equal(t, 4, b.Len(), "3, 3, 1 and 3")
	got, err := b.Get(6, func() (int, error) { return 10, nil })
	require.NoError(t, err)
	require.Equal(t, 10, got)
	require.Equal(t, 1, b.Len())
	b.Clear()
	b.Put(7, 10)
	require.Equal(t, 1, b.Len())
	b.Retain(func(int, int) bool { return false })
	b.Put(8, 10)
	require.Equal(t, 1, b.Len())
}

// TestLRU: the map drops the entry that was added or read least recently, and a look at an entry is no read.
func TestLRU(t *testing.T) {
	var dropped []int
	m := memo.NewLRU(2, func(key int, _ string) { dropped = append(dropped, key) })
	m.Add(1, "a")
	m.Add(2, "b")
	value, ok := m.Peek(1)
	require.True(t, ok)
	require.Equal(t, "a", value)
	m.Add(3, "c")
	require.Equal(t, []int{1}, dropped)
	_, ok = m.Get(2)
	require.True(t, ok)
	m.Add(4, "d")
	require.Equal(t, []int{1, 3}, dropped)
	require.Panics(t, func() { memo.NewLRU[int, int](0, nil) })
}
