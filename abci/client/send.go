package client

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	coretypes "github.com/cometbft/cometbft/rpc/core/types"
	rpctypes "github.com/cometbft/cometbft/rpc/jsonrpc/types"

	"github.com/spdl/spdl/abci"
	"github.com/spdl/spdl/app/tx"
)

// ErrNotTaken is a node's answer that it cannot take a transaction, whatever
// the transaction says: its mempool is full, or the bytes are too many.
var ErrNotTaken = errors.New("node does not take the transaction")

// Broadcast gives a transaction to the node's mempool and returns what CheckTx
// says: a verdict against it is a *Refusal. A transaction that the node has
// already is no error.
func (c *Client) Broadcast(ctx context.Context, t *tx.Tx) error {
	return verdict(c.rpc.BroadcastTxSync(ctx, t.Raw))
}

// verdict returns what an answer to a transaction means.
func verdict(r *coretypes.ResultBroadcastTx, err error) error {
	var answer *rpctypes.RPCError
	switch {
	case err != nil && strings.Contains(err.Error(), "tx already exists in cache"):
		return nil
	case errors.As(err, &answer):
		return fmt.Errorf("%w: %w", ErrNotTaken, answer)
	case err != nil:
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	case r.Code != abci.CodeOK:
		return &Refusal{Code: r.Code, Log: r.Log}
	}
	return nil
}

// Included blocks until a block holds the transaction, and returns its height.
// It outlives a node that is away; when ctx is done it returns what was wrong
// last.
func (c *Client) Included(ctx context.Context, t *tx.Tx, poll time.Duration) (int64, error) {
	var away error // of the last question that was not cut off, nil where it was answered
	for {
		r, err := c.rpc.Tx(ctx, t.Hash[:], false)
		var answer *rpctypes.RPCError
		switch {
		case err == nil && r.TxResult.Code != abci.CodeOK:
			return r.Height, &Refusal{Code: r.TxResult.Code, Log: r.TxResult.Log}
		case err == nil:
			return r.Height, nil
		case errors.As(err, &answer) && !strings.Contains(answer.Data, "not found"):
			return 0, fmt.Errorf("transaction %X: %w", t.Hash, answer)
		case answer != nil:
			away = nil
		case ctx.Err() == nil:
			away = fmt.Errorf("%w: %w", ErrUnreachable, err)
		}
		select {
		case <-ctx.Done():
			if away != nil {
				return 0, away
			}
			return 0, ctx.Err()
		case <-time.After(poll):
		}
	}
}

// Enactment reports what a round boundary did with a proposal.
type Enactment struct {
	Height  int64
	Kind    string // as tx.Kind has it
	Refused string // why it could not be made after all
}

// EnactmentAt looks for a proposal among those that a block enacted; nil where
// it is not one of them, or the node does not keep what blocks did.
func (c *Client) EnactmentAt(ctx context.Context, height int64, proposal string) (*Enactment, error) {
	r, err := c.rpc.BlockResults(ctx, &height)
	var answer *rpctypes.RPCError
	switch {
	case errors.As(err, &answer):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	for _, e := range r.FinalizeBlockEvents {
		if e.Type != "enactment" {
			continue
		}
		attributes := map[string]string{}
		for _, a := range e.Attributes {
			attributes[a.Key] = a.Value
		}
		if attributes["proposal"] == proposal {
			return &Enactment{Height: height, Kind: attributes["kind"], Refused: attributes["refused"]}, nil
		}
	}
	return nil, nil
}
