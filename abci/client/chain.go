package client

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"time"

	"github.com/spdl/spdl/abci"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/app/worker"
)

// Chain returns the chain for a worker in another process. It polls: the answers
// are small, and a poll needs no connection to survive a restart of the node.
func (c *Client) Chain(poll time.Duration) worker.Chain {
	if poll <= 0 {
		poll = 50 * time.Millisecond
	}
	return &chain{Client: c, poll: poll}
}

type chain struct {
	*Client
	poll time.Duration
}

func (c *chain) pause(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(c.poll):
		return nil
	}
}

// Await polls the status until the open round is another, then fetches what a
// step needs.
func (c *chain) Await(ctx context.Context, pub []byte, last *worker.Task) (*worker.Task, error) {
	for {
		s, err := c.Status(ctx)
		if err != nil {
			return nil, err
		}
		if last == nil || s.Epoch != last.Epoch || s.Round != last.Round {
			task, err := c.task(ctx, s, pub)
			if task != nil || err != nil {
				return task, err
			}
		}
		if err := c.pause(ctx); err != nil {
			return nil, err
		}
	}
}

// task fetches the open round, or nil where the chain moved on in between.
func (c *chain) task(ctx context.Context, s abci.Status, pub []byte) (*worker.Task, error) {
	params, err := c.Params(ctx)
	if err != nil {
		return nil, err
	}
	participants, err := c.Participants(ctx)
	if err != nil {
		return nil, err
	}
	m, err := c.Model(ctx)
	if err != nil || m.Epoch != s.Epoch || m.Round != s.Round {
		return nil, err
	}
	parameters, err := app.DecodeParameters(m.Parameters)
	if err != nil {
		return nil, err
	}
	seed, err := hex.DecodeString(s.Seed)
	if err != nil {
		return nil, fmt.Errorf("seed of the round: %w", err)
	}
	for _, p := range participants {
		if p.Active && string(p.PubKey) == string(pub) {
			return &worker.Task{
				ChainID: s.ChainID, Epoch: s.Epoch, Round: s.Round, Finished: s.Done, Seed: seed,
				Params: params, Participant: p, Model: parameters,
			}, nil
		}
	}
	return nil, fmt.Errorf("%w: %X", worker.ErrNotParticipant, pub)
}

// Lead polls the node's draft.
func (c *chain) Lead(ctx context.Context, participant uint32) (*tx.Aggregate, error) {
	for {
		draft, err := query[tx.Aggregate](ctx, c.Client, "/lead/"+number(uint64(participant)))
		var refusal *Refusal
		switch {
		case err == nil:
			return &draft, nil
		case !errors.As(err, &refusal):
			return nil, err
		}
		if err := c.pause(ctx); err != nil {
			return nil, err
		}
	}
}

// Submit broadcasts through CheckTx.
func (c *chain) Submit(ctx context.Context, t *tx.Tx) error {
	err := c.Broadcast(ctx, t)
	var refusal *Refusal
	if errors.As(err, &refusal) {
		return abci.Verdict(refusal.Code, refusal.Log)
	}
	return err
}
