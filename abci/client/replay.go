package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/spdl/spdl/abci"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/tx"
)

// ErrNotKept tells that a node has neither a model nor what to compute it from.
var ErrNotKept = errors.New("node does not keep what the model is computed from")

// Recompute computes the model after a closed round from the nearest state that
// the node keeps, or from genesis, and the blocks since. The result is the one
// that the record names by its hash, or an error, so the node need not be
// trusted beyond the record. Progress is told the heights before and the blocks
// to execute; it may be nil.
func (c *Client) Recompute(ctx context.Context, r app.Record, progress func(from, blocks uint64)) ([]float64, error) {
	s, err := c.start(ctx, r)
	if err != nil {
		return nil, err
	}
	if progress != nil {
		progress(s.Height, r.Height-s.Height)
	}
	for s.Height < r.Height {
		if s, err = c.step(ctx, s); err != nil {
			return nil, err
		}
	}
	if hash := app.ModelHash(s.Model); string(hash[:]) != string(r.ModelHash) {
		return nil, fmt.Errorf("epoch %d round %d: recomputed model has hash %X, the record says %X", r.Epoch, r.Round, hash, r.ModelHash)
	}
	return s.Model, nil
}

// start is the state to begin with.
func (c *Client) start(ctx context.Context, r app.Record) (*app.State, error) {
	kept, err := c.Kept(ctx, r.Epoch, r.Round)
	var refusal *Refusal
	switch {
	case err == nil:
		s, err := app.DecodeState(kept.Height, kept.Document)
		if err == nil && kept.Height > r.Height {
			err = fmt.Errorf("state of height %d for the round that height %d closed", kept.Height, r.Height)
		}
		return s, err
	case !errors.As(err, &refusal) || refusal.Code != abci.CodeNotFound:
		return nil, err
	}
	g, err := c.rpc.Genesis(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %s, and it gives no genesis: %w", ErrNotKept, refusal.Log, err)
	}
	genesis, err := app.DecodeGenesis(g.Genesis.AppState)
	if err != nil {
		return nil, err
	}
	blockBytes := int64(-1)
	if p := g.Genesis.ConsensusParams; p != nil {
		blockBytes = p.Block.MaxBytes
	}
	return app.NewState(g.Genesis.ChainID, uint64(g.Genesis.InitialHeight), blockBytes, genesis)
}

// step executes the next block.
func (c *Client) step(ctx context.Context, s *app.State) (*app.State, error) {
	height := int64(s.Height + 1)
	b, err := c.rpc.Block(ctx, &height)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, fmt.Errorf("%w: the state after height %d is there, block %d is not (pruned?): %w", ErrNotKept, s.Height, height, err)
	case b.Block == nil || b.Block.Height != height:
		return nil, fmt.Errorf("%w: no block %d", ErrNotKept, height)
	}
	block := app.Block{Height: uint64(height)}
	for i, raw := range b.Block.Txs {
		t, err := tx.Decode(raw)
		if err != nil {
			return nil, fmt.Errorf("block %d, transaction %d: %w", height, i, err)
		}
		block.Txs = append(block.Txs, t)
	}
	out, err := s.Execute(block)
	if err != nil {
		return nil, fmt.Errorf("block %d: %w", height, err)
	}
	return out.State, nil
}
