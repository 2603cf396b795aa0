package client

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"

	abcitypes "github.com/cometbft/cometbft/abci/types"
	rpctypes "github.com/cometbft/cometbft/rpc/jsonrpc/types"
)

// EpsilonAt returns the largest epsilon that any participant has spent up to the round that the
// block at the given height closed. It returns nil if the ledger is incomplete, if the block closed
// no round, or if the node does not have the block's results.
func (c *Client) EpsilonAt(ctx context.Context, height uint64) (*float64, error) {
	events, err := c.events(ctx, int64(height))
	return EpsilonIn(events), err
}

// events returns the events of the block at the given height, nil if the node does not have the block's results.
func (c *Client) events(ctx context.Context, height int64) ([]abcitypes.Event, error) {
	r, err := c.rpc.BlockResults(ctx, &height)
	var answer *rpctypes.RPCError
	switch {
	case errors.As(err, &answer):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	return r.FinalizeBlockEvents, nil
}

// EpsilonIn returns the epsilon in the event of a closed round. It returns nil if events has no
// such event, or if the event has no epsilon.
func EpsilonIn(events []abcitypes.Event) *float64 {
	at := slices.IndexFunc(events, func(e abcitypes.Event) bool { return e.Type == "round" })
	if at < 0 {
		return nil
	}
	for _, a := range events[at].Attributes {
		x, err := strconv.ParseFloat(a.Value, 64)
		if a.Key == "epsilon" && err == nil && !math.IsNaN(x) && !math.IsInf(x, 0) {
			return &x
		}
	}
	return nil
}
