package client

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	rpcclient "github.com/cometbft/cometbft/rpc/client"

	"github.com/spdl/spdl/abci"
	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/internal/wait"
)

// ErrPiece means that a piece of a long answer is malformed, or belongs to another answer than the first piece.
var ErrPiece = errors.New("pieces of the answer do not fit")

// maxFaults and faultPause are the limits of fetchLong. It repeats a failed request after
// faultPause. After maxFaults failures without a new piece it returns the last error.
const (
	maxFaults  = 5
	faultPause = 200 * time.Millisecond
)

// fetchModel fetches a model in pieces, and checks the parameters against the hash in the answer.
// path begins with /model.
func (c *Client) fetchModel(ctx context.Context, path string) (m query.ModelState, err error) {
	head, data, err := c.fetchLong(ctx, path)
	if err != nil {
		return m, err
	}
	if root := app.Root(app.Indexed(app.Chunks(data))); hex.EncodeToString(root[:]) != head.Hash {
		return m, fmt.Errorf("%w: parameters of %s have hash %x, the answer says %.64q", ErrPiece, path, root, head.Hash)
	}
	return query.ModelState{Epoch: head.Epoch, Round: head.Round, Hash: head.Hash, Parameters: data}, nil
}

// fetchCheckpoint fetches a state or a checkpoint in pieces. path begins with /kept.
func (c *Client) fetchCheckpoint(ctx context.Context, path string) (query.StateAfter, error) {
	head, data, err := c.fetchLong(ctx, path)
	return query.StateAfter{Epoch: head.Epoch, Round: head.Round, Height: head.Height, Document: data}, err
}

// fetchLong fetches a long answer in pieces of at most query.MaxRange bytes. If the node no longer
// has the state to which the first piece belongs, fetchLong starts again with the current state.
func (c *Client) fetchLong(ctx context.Context, path string) (head query.RangeInfo, data []byte, err error) {
	var height int64
	left, furthest := maxFaults, 0
	for {
		err = c.fetchPiece(ctx, path, &height, &head, &data)
		switch {
		case err == nil && len(data) == head.Bytes:
			return head, data, nil
		case err == nil && len(data) > furthest:
			left, furthest = maxFaults, len(data)
			continue
		case err == nil:
			continue
		}
		left--
		var refusal *Refusal
		refused := errors.As(err, &refusal)
		// fetchLong gives up after maxFaults failures, when ctx has ended, if an answer is too large, or
		// if the first piece fails.
		switch {
		case left == 0, ctx.Err() != nil, errors.Is(err, ErrTooLarge), len(data) == 0:
			return query.RangeInfo{}, nil, err
		case refused || errors.Is(err, ErrPiece):
			height, data = 0, nil
		}
		if wait.For(ctx, faultPause) != nil {
			return query.RangeInfo{}, nil, fmt.Errorf("%w, after %d of %d bytes: %w", ctx.Err(), len(data), head.Bytes, err)
		}
	}
}

// fetchPiece fetches the next piece and appends it to data. The piece belongs to the state at
// height; 0 means the current state. fetchPiece fails with ErrPiece if the piece's RangeInfo
// differs from head, the RangeInfo of the first piece.
func (c *Client) fetchPiece(ctx context.Context, path string, height *int64, head *query.RangeInfo,
	data *[]byte) error {
	asked := fmt.Sprintf("%s?from=%d", path, len(*data))
	answer, err := c.rpc.ABCIQueryWithOptions(ctx, asked, nil, rpcclient.ABCIQueryOptions{Height: *height})
	if err != nil {
		return fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	r := answer.Response
	if r.Code != abci.CodeOK {
		return &Refusal{Code: r.Code, Log: r.Log}
	}
	var says query.RangeInfo
	if err := json.Unmarshal([]byte(r.Info), &says); err != nil {
		return fmt.Errorf("%w: answer to %s: %w", ErrPiece, asked, err)
	}
	most := min(query.MaxRange, says.Bytes-len(*data))
	switch {
	case says.Bytes > MaxAnswer:
		return fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, says.Bytes, int64(MaxAnswer))
	case len(*data) > 0 && says != *head:
		return fmt.Errorf("%w: answer to %s is of %+v, the first was of %+v", ErrPiece, asked, says, *head)
	case len(r.Value) == 0 || len(r.Value) > most:
		return fmt.Errorf("%w: answer to %s has %d bytes, want 1 to %d", ErrPiece, asked, len(r.Value), most)
	}
	// The next pieces are requested at the height of the first piece, so that all pieces belong to one state.
	if *head = says; path == "/model" || path == "/kept" {
		*height = r.Height
	}
	*data = append(*data, r.Value...)
	return nil
}
