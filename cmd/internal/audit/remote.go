package audit

import (
	"context"
	"fmt"
	"io"

	cmtproto "github.com/cometbft/cometbft/proto/tendermint/types"
	"github.com/cometbft/cometbft/types"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/app"
)

// Remote is a Source that asks a node over RPC. It ends at the application's height at the time of
// OpenRemote, because the application hash after the node's next block does not exist yet.
type Remote struct {
	c       *client.Client
	genesis *types.GenesisDoc
	next    int64
	last    int64
}

var (
	_ Source  = (*Remote)(nil)
	_ Witness = (*Remote)(nil)
)

// OpenRemote asks a node for its genesis and height.
func OpenRemote(ctx context.Context, c *client.Client) (*Remote, error) {
	r := &Remote{c: c}
	status, err := c.RPC().Status(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", client.ErrUnreachable, err)
	}
	info, err := c.RPC().ABCIInfo(ctx)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", client.ErrUnreachable, err)
	}
	r.last = info.Response.LastBlockHeight
	if r.genesis, err = c.Genesis(ctx); err != nil {
		return nil, err
	}
	r.next = r.genesis.InitialHeight
	if base := status.SyncInfo.EarliestBlockHeight; base > r.next {
		return nil, fmt.Errorf("the node's blocks begin at height %d, a replay needs all from %d: ask one that was "+
			"neither state synced nor pruned", base, r.next)
	}
	return r, nil
}

// Genesis returns the node's genesis. An auditor can replace it by another copy: Options.Genesis.
func (r *Remote) Genesis() *types.GenesisDoc { return r.genesis }

// Next fetches a block.
func (r *Remote) Next(ctx context.Context) (*cmtproto.Block, error) {
	height := r.next
	if height > r.last {
		return nil, io.EOF
	}
	r.next++
	answer, err := r.c.RPC().Block(ctx, &height)
	switch {
	case ctx.Err() != nil:
		return nil, ctx.Err()
	case err != nil:
		return nil, fmt.Errorf("%w: block %d: %w", client.ErrUnreachable, height, err)
	case answer.Block == nil:
		return nil, fmt.Errorf("%w: height %d: the node has none", ErrDamaged, height)
	}
	b, err := answer.Block.ToProto()
	if err != nil {
		return nil, fmt.Errorf("%w: height %d: %w", ErrDamaged, height, err)
	}
	return b, nil
}

// Tip returns the last block's commit, and the application hash after that block: the node's own,
// or the one in the next header if the chain has grown since OpenRemote.
func (r *Remote) Tip(ctx context.Context) (Tip, error) {
	if r.last == 0 {
		return Tip{}, nil
	}
	signed, err := r.c.RPC().Commit(ctx, &r.last)
	if err != nil {
		return Tip{}, fmt.Errorf("%w: commit %d: %w", client.ErrUnreachable, r.last, err)
	}
	tip := Tip{Commit: signed.Commit}
	info, err := r.c.RPC().ABCIInfo(ctx)
	if err != nil {
		return tip, fmt.Errorf("%w: %w", client.ErrUnreachable, err)
	}
	if info.Response.LastBlockHeight == r.last {
		tip.AppHash = info.Response.LastBlockAppHash
		return tip, nil
	}
	following := r.last + 1
	if signed, err = r.c.RPC().Commit(ctx, &following); err == nil && signed.Header != nil {
		tip.AppHash = signed.AppHash
	}
	return tip, nil
}

// Done returns the share of the heights that have been read.
func (r *Remote) Done() float64 { return doneShare(r.genesis.InitialHeight, r.next, r.last) }

// Record returns the node's own record of a closed round.
func (r *Remote) Record(ctx context.Context, epoch, round uint64) (*app.Record, error) {
	record, err := r.c.RoundOf(ctx, epoch, round)
	return &record, err
}

// State returns nil: RPC does not give the state.
func (r *Remote) State(context.Context) (*app.State, error) { return nil, nil }

// Close has nothing to close.
func (r *Remote) Close() error { return nil }
