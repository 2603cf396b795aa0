package client

import (
	"context"
	"errors"
	"fmt"

	"github.com/cometbft/cometbft/types"

	"github.com/spdl/spdl/abci"
	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/tx"
)

// ErrNotKept means that a node does not have the state or the blocks from which a model can be computed.
var ErrNotKept = errors.New("node does not keep what the model is computed from")

// Recompute computes the model after a closed round. It starts from the node's last checkpoint before the round, or
// from genesis, and executes the later blocks. It fails if the result does not have the hash in the record r. So the
// caller needs to trust r and not the node. Before the execution Recompute calls progress with the height of the first
// state and the number of blocks to execute. If progress is nil, it is not called.
func (c *Client) Recompute(ctx context.Context, r app.Record, progress func(from, blocks uint64)) ([]float64, error) {
	s, block, err := c.stateBefore(ctx, r, progress)
	if err != nil {
		return nil, err
	}
	return modelAfter(s, block, r)
}

// Neighbours computes for each gradient of a closed round the gradients with which the rule compared or mixed it. It
// executes the same blocks as Recompute, and fails if they do not lead to the record's model.
func (c *Client) Neighbours(ctx context.Context, r app.Record) ([]app.Neighbours, error) {
	s, block, err := c.stateBefore(ctx, r, nil)
	if err != nil {
		return nil, err
	}
	// The call of modelAfter verifies the block. It must come first, because s.Neighbours does not recover from a panic.
	if _, err := modelAfter(s, block, r); err != nil {
		return nil, err
	}
	return s.Neighbours(block)
}

// stateBefore returns the block that closed the round of r, and the state before that block.
func (c *Client) stateBefore(ctx context.Context, r app.Record, progress func(from, blocks uint64)) (s *app.State,
	block app.Block, err error) {
	if s, err = c.start(ctx, r); err != nil {
		return s, block, err
	}
	if s.Height >= r.Height {
		return s, block, fmt.Errorf("state of height %d for the round that height %d closed", s.Height, r.Height)
	}
	if progress != nil {
		progress(s.Height, r.Height-s.Height)
	}
	for {
		if block, err = c.decodedBlock(ctx, s.Height+1); err != nil || block.Height == r.Height {
			return s, block, err
		}
		out, err := execute(s, block)
		if err != nil {
			return s, block, err
		}
		s = out.State
	}
}

// execute executes a block from an untrusted node on a state from an untrusted node.
func execute(s *app.State, b app.Block) (*app.Outcome, error) {
	out, err := s.SafeExecute(b)
	if err != nil {
		err = fmt.Errorf("block %d: %w", b.Height, err)
	}
	return out, err
}

// modelAfter executes block b on the state s before it, and returns the model after the round that b closes. It leaves
// out the operations in b, because an operation may start an epoch with another model.
func modelAfter(s *app.State, b app.Block, r app.Record) ([]float64, error) {
	alone := *s
	alone.Proposals = nil
	if n := 1 + len(r.Contributions); n < len(b.Txs) {
		b.Txs = b.Txs[:n]
	}
	out, err := execute(&alone, b)
	if err != nil {
		return nil, err
	}
	if hash := app.ModelHash(out.State.Model); string(hash[:]) != string(r.ModelHash) {
		return nil, fmt.Errorf("epoch %d round %d: recomputed model has hash %X, the record says %X", r.Epoch, r.Round, hash,
			r.ModelHash)
	}
	return out.State.Model, nil
}

// keptBefore returns the node's last checkpoint before the round of r.
func (c *Client) keptBefore(ctx context.Context, r app.Record) (query.StateAfter, error) {
	kept, err := c.Checkpoint(ctx, r.Epoch, r.Round)
	switch {
	case err != nil || kept.Epoch != r.Epoch || kept.Round != r.Round:
		return kept, err
	case r.Round > 0:
		return c.Checkpoint(ctx, r.Epoch, r.Round-1)
	case r.Epoch > 0:
		return c.Checkpoint(ctx, r.Epoch-1, 1<<64-1)
	}
	return kept, &Refusal{Code: abci.CodeNotFound, Log: "no state is kept from before the first round"}
}

// start returns the state from which the computation starts: the last checkpoint before the round,
// or the genesis state if the node has no such checkpoint.
func (c *Client) start(ctx context.Context, r app.Record) (*app.State, error) {
	kept, err := c.keptBefore(ctx, r)
	var refusal *Refusal
	switch {
	case err == nil:
		return app.DecodeState(kept.Height, kept.Document)
	case !errors.As(err, &refusal) || refusal.Code != abci.CodeNotFound:
		return nil, err
	}
	doc, err := c.Genesis(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %s, and it gives no genesis: %w", ErrNotKept, refusal.Log, err)
	}
	genesis, err := app.DecodeGenesis(doc.AppState)
	if err != nil {
		return nil, err
	}
	blockBytes := int64(-1)
	if p := doc.ConsensusParams; p != nil {
		blockBytes = p.Block.MaxBytes
	}
	return app.NewState(doc.ChainID, uint64(doc.InitialHeight), blockBytes, genesis)
}

// decodedBlock fetches the block at the given height and decodes its transactions.
func (c *Client) decodedBlock(ctx context.Context, height uint64) (app.Block, error) {
	b, err := c.Block(ctx, height)
	if err != nil {
		return app.Block{}, err
	}
	return Execution(b)
}

// Block fetches the block at the height at, without verifying the block.
func (c *Client) Block(ctx context.Context, at uint64) (*types.Block, error) {
	height := int64(at)
	b, err := c.rpc.Block(ctx, &height)
	switch {
	case err != nil && ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, fmt.Errorf("%w: the state after height %d is there, block %d is not (pruned?): %w", ErrNotKept, height-1,
			height, err)
	case b.Block == nil || b.Block.Height != height:
		return nil, fmt.Errorf("%w: no block %d", ErrNotKept, height)
	}
	return b.Block, nil
}

// Execution converts a block, which may come from an untrusted source, to the form that a state executes.
func Execution(b *types.Block) (block app.Block, err error) {
	if made := b.Version.App; made != app.Version && made != 0 { // 0 if the block has no version
		return block, fmt.Errorf("%w: block %d is of state machine %d, this program executes %d: a release of that "+
			"version computes the model", app.ErrVersion, b.Height, made, app.Version)
	}
	block.Height = uint64(b.Height)
	for i, raw := range b.Txs {
		t, err := tx.Decode(raw)
		if err != nil {
			return block, fmt.Errorf("block %d, transaction %d: %w", b.Height, i, err)
		}
		block.Txs = append(block.Txs, t)
	}
	block.Misbehavior, err = abci.MisbehaviorOf(b.Evidence.Evidence)
	if err != nil {
		err = fmt.Errorf("block %d: %w", b.Height, err)
	}
	return block, err
}
