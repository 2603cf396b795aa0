//go:build !js

package light

import (
	"context"
	"sync"
	"time"

	"github.com/spdl/spdl/app"
)

// pollInterval is the min interval between two requests for the state while the subscription to the
// node's new blocks is alive. Each announcement also triggers a request.
const pollInterval = time.Second

// stateWatcher polls the node for all callers that wait for a state, and only while a caller waits.
// So all workers that share the chain cause one request for each block.
type stateWatcher struct {
	mu      sync.Mutex
	callers int
	stop    context.CancelFunc
	updated chan struct{} // closed and replaced after each answer of the node
	state   *app.State    // the verified state of the last answer; nil before the first answer and after an error
	err     error
}

// await returns the first verified state for which accept returns true, or the first error of a
// request after the call.
func (c *chain) await(ctx context.Context, accept func(*app.State) bool) (*app.State, error) {
	w := &c.watch
	w.mu.Lock()
	if w.callers++; w.callers == 1 {
		var asking context.Context
		asking, w.stop = context.WithCancel(context.Background())
		w.updated, w.state = make(chan struct{}), nil
		go c.ask(asking, w.updated)
	}
	state, news := w.state, w.updated
	w.mu.Unlock()
	defer w.leave()
	for {
		if state != nil && accept(state) {
			return state, nil
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-news:
		}
		w.mu.Lock()
		err := w.err
		state, news = w.state, w.updated
		w.mu.Unlock()
		if err != nil {
			return nil, err
		}
	}
}

func (w *stateWatcher) leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.callers--; w.callers == 0 {
		w.stop()
	}
}

// ask fetches the state and wakes all waiting callers, and repeats that whenever the node announces
// a block, or after the poll interval, until ctx ends.
func (c *chain) ask(ctx context.Context, news chan struct{}) {
	announced := c.client.Subscribe(ctx)
	for {
		s, err := c.tip(ctx)
		if ctx.Err() != nil {
			return
		}
		c.watch.mu.Lock()
		if c.watch.updated != news { // another ask has taken over
			c.watch.mu.Unlock()
			return
		}
		c.watch.state, c.watch.err = s, err
		close(news)
		news = make(chan struct{})
		c.watch.updated = news
		c.watch.mu.Unlock()
		rest := c.poll
		if announced.Live() {
			rest = max(rest, pollInterval)
		}
		select {
		case <-ctx.Done():
			return
		case <-announced.Blocks:
		case <-time.After(rest):
		}
	}
}
