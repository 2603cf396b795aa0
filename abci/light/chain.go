package light

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spdl/spdl/abci"
	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/proof"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/app/worker"
)

const defaultPoll = 50 * time.Millisecond

// Chain returns the chain for a worker in another process than its node: parameters,
// round, model and seed are those of a state that follows from the home's genesis, and
// a draft is made again before it is given to be signed. It polls: the answers are
// small, and a poll needs no connection to survive a restart of the node.
func Chain(c *client.Client, h Home, poll time.Duration) (worker.Chain, error) {
	if poll <= 0 {
		poll = defaultPoll
	}
	f, err := newFollower(c, h)
	if err != nil {
		return nil, err
	}
	return &chain{follower: f, poll: poll}, nil
}

type chain struct {
	*follower
	poll time.Duration
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// tip returns the verified state after the node's last block.
func (c *chain) tip(ctx context.Context) (*app.State, error) {
	s, err := c.client.RPC().Status(ctx)
	switch {
	case err != nil:
		return nil, fmt.Errorf("%w: %w", client.ErrUnreachable, err)
	case s.NodeInfo.Network != c.Genesis.ChainID:
		return nil, fmt.Errorf("%w: the node is on chain %q, the home's genesis is of %q", proof.ErrNotProven, s.NodeInfo.Network, c.Genesis.ChainID)
	case s.SyncInfo.CatchingUp:
		return nil, fmt.Errorf("%w: it says that it catches up", ErrStale)
	case s.SyncInfo.LatestBlockHeight < 0:
		return nil, fmt.Errorf("%w: the node has height %d", proof.ErrNotProven, s.SyncInfo.LatestBlockHeight)
	}
	return c.to(ctx, max(uint64(s.SyncInfo.LatestBlockHeight), uint64(c.Genesis.InitialHeight)-1))
}

// Await polls until the open round is another.
func (c *chain) Await(ctx context.Context, pub []byte, last *worker.Task) (*worker.Task, error) {
	for {
		s, err := c.tip(ctx)
		if err != nil {
			return nil, err
		}
		if last == nil || s.Progress.Epoch != last.Epoch || s.Progress.Round != last.Round {
			return abci.NewTask(s, pub)
		}
		if err := pause(ctx, c.poll); err != nil {
			return nil, err
		}
	}
}

// Lead polls the node's draft, and makes it again of its gradients.
func (c *chain) Lead(ctx context.Context, participant uint32) (*tx.Aggregate, error) {
	for {
		draft, gradients, err := c.client.Lead(ctx, participant)
		var refusal *client.Refusal
		switch {
		case err == nil:
			s, err := c.tip(ctx)
			if err == nil {
				err = s.CheckDraft(draft, gradients)
			}
			if err == nil {
				return draft, nil
			}
			if !errors.Is(err, app.ErrAggregateRound) { // closed in between
				return nil, err
			}
		case !errors.As(err, &refusal):
			return nil, err
		}
		if err := pause(ctx, c.poll); err != nil {
			return nil, err
		}
	}
}

// Submit broadcasts through CheckTx.
func (c *chain) Submit(ctx context.Context, t *tx.Tx) error {
	err := c.client.Broadcast(ctx, t)
	var refusal *client.Refusal
	if errors.As(err, &refusal) {
		return abci.Verdict(refusal.Code, refusal.Log)
	}
	return err
}
