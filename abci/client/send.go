package client

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	abcitypes "github.com/cometbft/cometbft/abci/types"
	coretypes "github.com/cometbft/cometbft/rpc/core/types"
	rpctypes "github.com/cometbft/cometbft/rpc/jsonrpc/types"

	"github.com/spdl/spdl/abci"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/internal/wait"
)

// ErrNotTaken means that a node cannot accept a transaction for a reason other than its validity:
// the mempool is full, or the transaction is too large.
var ErrNotTaken = errors.New("node does not take the transaction")

// Broadcast submits a transaction to the node's mempool. The result is nil if CheckTx admits the
// transaction or the node already has it, and a *Refusal if CheckTx rejects it.
func (c *Client) Broadcast(ctx context.Context, t *tx.Tx) error {
	return verdict(c.rpc.BroadcastTxSync(ctx, t.Raw))
}

// verdict turns the answer to a broadcast into an error or nil.
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

// Included waits until a block has the transaction, and returns the block's height. It also waits
// while the node is unreachable. When ctx ends, Included returns the error of the last request, or
// ctx's error if the node answered that request.
func (c *Client) Included(ctx context.Context, t *tx.Tx, poll time.Duration) (int64, error) {
	var away error // the error of the last request that ctx did not end; nil if the node answered
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
		if err := wait.For(ctx, poll); err != nil {
			return 0, cmp.Or(away, err)
		}
	}
}

// Enactment is the end of a proposal: the proposal was enacted, could not be enacted, or was discarded.
type Enactment struct {
	Height int64
	Kind   string // the name of the proposal's tx.Kind
	// Participant is the index of the participant that joined, left, rotated or was restored, or that
	// proposed the epoch or upgrade.
	Participant string
	Refused     string // why the proposal could not be enacted; "" if it was enacted or discarded
	Discarded   string // "withdrawn" or "expired"; "" if the proposal was not discarded
}

// EnactmentAt returns the enactment of the given proposal in the block at the given height. It returns nil if the
// block has no enactment of the proposal, or if the node does not have the block's results.
func (c *Client) EnactmentAt(ctx context.Context, height int64, proposal string) (*Enactment, error) {
	events, err := c.events(ctx, height)
	return EnactmentIn(events, height, proposal), err
}

// EnactmentIn returns the enactment of a proposal. It searches events, the events of the block at the given height,
// and returns nil if they have no such enactment. The argument proposal is the proposal's id or a prefix of the id.
func EnactmentIn(events []abcitypes.Event, height int64, proposal string) *Enactment {
	for _, e := range events {
		if e.Type != "enactment" && e.Type != "discard" {
			continue
		}
		attributes := map[string]string{}
		for _, a := range e.Attributes {
			attributes[a.Key] = a.Value
		}
		if proposal != "" && strings.HasPrefix(attributes["proposal"], proposal) {
			return &Enactment{Height: height, Kind: attributes["kind"], Participant: attributes["participant"],
				Refused: attributes["refused"], Discarded: attributes["cause"]}
		}
	}
	return nil
}
