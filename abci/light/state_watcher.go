//go:build !js

package light

import (
	"context"
	"sync"
	"time"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/internal/wait"
)

// pollInterval is the min time between two requests for the state if the node announces no block between them. It holds
// while the subscription to the node's new blocks is alive. An announcement triggers a request at once.
const pollInterval = 500 * time.Millisecond

// stateWatcher polls the node for all callers that wait for a state, and polls only while a caller
// waits. So all workers that share the chain cause one request for each block.
type stateWatcher struct {
	mu      sync.Mutex
	callers int
	stop    context.CancelFunc
	updated chan struct{} // closed and replaced after each answer of the node
	state   *app.State    // the verified state of the last answer; nil before the first answer and after an error
	err     error
}

// await returns the first verified state for which accept returns true, or the first error of a request after the call.
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

// waiting returns the number of callers that wait for a state.
func (w *stateWatcher) waiting() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.callers
}

func (w *stateWatcher) leave() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.callers--; w.callers == 0 {
		w.stop()
	}
}

// ask fetches the state and wakes all waiting callers. It repeats this whenever the current node
// announces a block, and after the poll interval, until ctx ends.
func (c *chain) ask(ctx context.Context, news chan struct{}) {
	for failed := 0; c.askNode(ctx, c.nodes.current(), &news, &failed); {
	}
}

// askNode does the work of ask while n is the current node. It returns false if this goroutine must
// end. The callers get an error only after all nodes have failed in turn.
func (c *chain) askNode(ctx context.Context, n *node, news *chan struct{}, failed *int) bool {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	announced := n.Subscribe(ctx)
	for c.nodes.current() == n {
		var s *app.State
		err := c.nodes.ask(ctx, func(ctx context.Context) (err error) { s, err = c.tip(ctx); return err })
		if ctx.Err() != nil {
			return false
		}
		if *failed++; err == nil {
			*failed = 0
		}
		if *failed%len(c.nodes.all) > 0 { // another node may answer
			return wait.For(ctx, c.poll) == nil
		}
		if !c.watch.tell(news, s, err) {
			return false
		}
		rest := c.poll
		if announced.Live() {
			rest = max(rest, pollInterval)
		}
		select {
		case <-ctx.Done():
			return false
		case <-announced.Blocks:
		case <-time.After(rest):
		}
	}
	return true
}

// tell gives the state, or the error, to the waiting callers and wakes them. It returns false if
// another goroutine has begun to poll since, so that this one must end.
func (w *stateWatcher) tell(news *chan struct{}, s *app.State, err error) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.updated != *news {
		return false
	}
	w.state, w.err = s, err
	close(*news)
	*news = make(chan struct{})
	w.updated = *news
	return true
}
