package client

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strconv"

	abcitypes "github.com/cometbft/cometbft/abci/types"
	rpctypes "github.com/cometbft/cometbft/rpc/jsonrpc/types"
)

// EpsilonAt returns the largest spend of a participant after the round that the block at a height
// closed. It returns nil without a guarantee, or if the node does not have the block's results.
func (c *Client) EpsilonAt(ctx context.Context, height uint64) (*float64, error) {
	h := int64(height)
	r, err := c.rpc.BlockResults(ctx, &h)
	var answer *rpctypes.RPCError
	switch {
	case errors.As(err, &answer):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	return EpsilonIn(r.FinalizeBlockEvents), nil
}

// EpsilonIn returns the epsilon in a block's event of a closed round, nil if there is none, or no
// guarantee.
func EpsilonIn(events []abcitypes.Event) *float64 {
	for _, e := range events {
		for _, a := range e.Attributes {
			if e.Type != "round" || a.Key != "epsilon" {
				continue
			}
			x, err := strconv.ParseFloat(a.Value, 64)
			if err == nil && !math.IsNaN(x) && !math.IsInf(x, 0) {
				return &x
			}
		}
	}
	return nil
}
