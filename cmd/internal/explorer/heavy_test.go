package explorer

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/home"
)

// slow is a node that gives a model when it is let.
type slow struct {
	*fake
	asked, let chan struct{}
}

func (n slow) Query(ctx context.Context, path string, answer any) error {
	if strings.HasPrefix(path, "/model/") {
		n.asked <- struct{}{}
		select {
		case <-n.let:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return n.fake.Query(ctx, path, answer)
}

// TestFewModelsAtOnce: the number of models that a client gets at once is bounded, whatever the
// rate allows: each may take a hundred megabytes until it is read.
func TestFewModelsAtOnce(t *testing.T) {
	f := newFake(6, "x")
	n := slow{f, make(chan struct{}, 100), make(chan struct{})}
	s := New(n, f, Options{APIConfig: home.APIConfig{Rate: 1e6, Burst: 1e6}})
	require.NoError(t, s.chain.Look(t.Context()))
	var wg sync.WaitGroup
	for range modelsPerClient {
		wg.Go(func() { get(s, "/v1/models/0/1") })
		<-n.asked
	}
	let := sync.OnceFunc(func() { close(n.let) })
	stop := time.AfterFunc(time.Minute, let).Stop // otherwise a request that waits for its turn would never end
	w := get(s, "/v1/models/0/1")
	require.Equal(t, http.StatusServiceUnavailable, w.Code)
	require.Equal(t, "1", w.Header().Get("Retry-After"))
	require.True(t, stop(), "it waits in no queue")
	let()
	wg.Wait()
	require.Equal(t, http.StatusOK, get(s, "/v1/models/0/1").Code)
}

// TestSearchAsksLittle: a search for a hash asks the node a few things, however many rounds the
// history has and however few records the cache holds.
func TestSearchAsksLittle(t *testing.T) {
	f := newFake(100, "x")
	s := over(t, f, Options{})
	s.chain.Forget()
	f.asked = map[string]int{}
	get(s, "/search?q="+strings.Repeat("b", 64))
	n := 0
	for _, times := range f.asked {
		n += times
	}
	require.Less(t, n, 10)
	require.Equal(t, http.StatusOK, get(s, "/search?q="+strings.Repeat("0", 64)).Code,
		"the hash of all rounds of the fake")
}
