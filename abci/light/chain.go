//go:build !js

package light

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/proof"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/app/worker"
	"github.com/spdl/spdl/internal/memo"
	"github.com/spdl/spdl/internal/wait"
)

const defaultPoll = 50 * time.Millisecond

// Chain returns a worker.Chain for workers outside of the node's process. It takes parameters,
// round, model and seed from a state that it has verified from the home's genesis on, and it
// recomputes a draft before it returns the draft for signing. Any number of workers can share one
// Chain, which makes one request for each block that the node announces. It queries the first node
// until that node fails, then the next node, and so on. It distributes transactions over all nodes.
func Chain(clients []*client.Client, h Home, poll time.Duration) (worker.Chain, error) {
	if poll <= 0 {
		poll = defaultPoll
	}
	f, err := newVerifier(clients, h)
	if err != nil {
		return nil, err
	}
	return &chain{verifier: f, poll: poll, observed: memo.New[params.RoundID, worker.Observed](1)}, nil
}

type chain struct {
	*verifier
	poll   time.Duration
	watch  stateWatcher
	outbox outbox
	// observed has what the node observed, by the open round.
	observed *memo.Bounded[params.RoundID, worker.Observed]
}

// tip returns the verified state after the node's last block.
func (c *chain) tip(ctx context.Context) (*app.State, error) {
	s, err := c.nodes.current().RPC().Status(ctx)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", client.ErrUnreachable, err)
	case s.NodeInfo.Network != c.Genesis.ChainID:
		return nil, fmt.Errorf("%w: the node is on chain %q, the home's genesis is of %q", proof.ErrNotProven,
			s.NodeInfo.Network, c.Genesis.ChainID)
	case s.SyncInfo.CatchingUp:
		return nil, fmt.Errorf("%w: it says that it catches up", ErrStale)
	case s.SyncInfo.LatestBlockHeight < 0:
		return nil, fmt.Errorf("%w: the node has height %d", proof.ErrNotProven, s.SyncInfo.LatestBlockHeight)
	}
	return c.advance(ctx, max(uint64(s.SyncInfo.LatestBlockHeight), uint64(c.Genesis.InitialHeight)-1))
}

// Await waits until the open round or its phase differs from that of lastTask, and returns the new task.
func (c *chain) Await(ctx context.Context, pub []byte, lastTask *worker.Task) (*worker.Task, error) {
	s, err := c.await(ctx, func(s *app.State) bool { return worker.HasMoved(s, lastTask) })
	if err != nil {
		return nil, err
	}
	task, err := worker.NewTask(s, pub)
	if err != nil || task.Round == 0 {
		return task, err
	}
	// An answer that is missing or not valid states nothing. It must not cost the participant its gradient.
	observed, err := c.observed.Get(params.RoundID{Epoch: task.Epoch, Round: task.Round}, func() (worker.Observed, error) {
		return client.Ask[worker.Observed](ctx, c.nodes.current().Client, "/observed")
	})
	if err == nil && s.CheckObservations(observed.Late, observed.Failed) == nil {
		task.Observed = observed
	}
	return task, nil
}

// Lead waits until the participant may lead, requests the node's draft, and checks the draft by
// running the rule over the draft's gradients.
func (c *chain) Lead(ctx context.Context, participant uint32) (*tx.Aggregate, error) {
	for {
		s, err := c.await(ctx, func(s *app.State) bool {
			_, _, err := s.DraftIncluded(s.Height+1, participant, nil)
			return err == nil || errors.Is(err, app.ErrNotClosing) // ErrNotClosing: the call passes no gradients
		})
		if err != nil {
			return nil, err
		}
		var draft *tx.Aggregate
		var gradients []*tx.Tx
		err = c.nodes.ask(ctx, func(ctx context.Context) (err error) {
			draft, gradients, err = c.draft(ctx, s, participant)
			return err
		})
		var refusal *client.Refusal
		switch {
		case err == nil:
			s, err := c.tip(ctx)
			if err == nil {
				err = s.CheckDraft(draft, gradients)
			}
			if err == nil {
				c.cache.addDraft(draft, gradients)
				return draft, nil
			}
			if !errors.Is(err, app.ErrAggregateRound) { // ErrAggregateRound means that the round has closed
				return nil, err
			}
		case !errors.As(err, &refusal):
			return nil, err
		}
		if err := wait.For(ctx, c.poll); err != nil {
			return nil, err
		}
	}
}

// draft returns the node's draft and the gradients that the draft lists. If this process has sent
// most gradients of the round, draft fetches only the gradients that are not in the cache.
func (c *chain) draft(ctx context.Context, s *app.State, participant uint32) (*tx.Aggregate, []*tx.Tx, error) {
	n := c.nodes.current()
	if !c.cache.sentMost(s) {
		return n.Lead(ctx, participant)
	}
	draft, err := n.Draft(ctx, participant)
	if err != nil {
		return nil, nil, err
	}
	var gradients []*tx.Tx
	for _, in := range draft.Included {
		t := c.cache.find(in.Hash)
		if t == nil {
			if t, err = n.Pending(ctx, in.Participant); err != nil {
				return nil, nil, err
			}
		}
		gradients = append(gradients, t)
	}
	return draft, gradients, nil
}
