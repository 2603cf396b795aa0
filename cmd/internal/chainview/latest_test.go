package chainview

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"

	"github.com/stretchr/testify/require"
)

// TestSlowReader: who does not read is closed, and the others go on.
func TestSlowReader(t *testing.T) {
	tail := New(nil, nil, Options{})
	slow, _ := tail.Subscribe()
	for range queued + 1 {
		tail.mu.Lock()
		tail.tell([]byte("news"))
		tail.mu.Unlock()
	}
	require.Empty(t, tail.readers)
	count := 0
	for range slow {
		count++
	}
	require.Equal(t, queued, count)
}

// TestLatest: what follows from the state is made once a look for all callers that ask at once. A
// late caller gets what is newer; errors and what is larger than all may be are not kept; and where the
// maker's client went away or the maker failed, others do not wait without end.
func TestLatest(t *testing.T) {
	l := NewLatest(8, func(text string) int { return len(text) })
	calls := 0
	say := func(text string, err error) func() (string, error) {
		return func() (string, error) { calls++; return text, err }
	}
	ask := func(look uint64, compute func() (string, error)) string {
		text, _ := l.Get(t.Context(), look, "/", compute)
		return text
	}
	require.Equal(t, "three", ask(3, say("three", nil)))
	require.Equal(t, "three", ask(2, say("two, late", nil)))
	require.Equal(t, "three", ask(3, say("again", nil)))
	require.Equal(t, 1, calls)
	_, err := l.Get(t.Context(), 4, "/", say("", ErrNotFound))
	require.ErrorIs(t, err, ErrNotFound)
	require.Equal(t, "123456789", ask(4, say("123456789", nil)))
	require.Equal(t, "four", ask(4, say("four", nil)), "nine were more than it may keep")
	require.Panics(t, func() { _, _ = l.Get(t.Context(), 5, "/", func() (string, error) { panic("maker") }) })
	require.Equal(t, "five", ask(5, say("five", nil)))
}

// TestLatestOfAClientThatWentAway: who waits for the value of another client gets it, and computes it
// where that client went away.
func TestLatestOfAClientThatWentAway(t *testing.T) {
	for _, away := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			l := NewLatest(8, func(any) int { return 1 })
			end := make(chan struct{})
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			go func() { _, _ = l.Get(ctx, 1, "/", func() (any, error) { <-end; return "first", ctx.Err() }) }()
			synctest.Wait()
			var second, got atomic.Int64
			for range 20 {
				go func() {
					_, err := l.Get(t.Context(), 1, "/", func() (any, error) { second.Add(1); return "second", nil })
					require.NoError(t, err)
					got.Add(1)
				}()
			}
			synctest.Wait()
			require.Zero(t, got.Load(), "all wait")
			if away {
				cancel()
			}
			close(end)
			synctest.Wait()
			require.EqualValues(t, 20, got.Load())
			require.Equal(t, away, second.Load() == 1)
		})
	}
}
