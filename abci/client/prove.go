package client

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cometbft/cometbft/light/provider"
	rpcclient "github.com/cometbft/cometbft/rpc/client"
	"github.com/cometbft/cometbft/types"

	"github.com/spdl/spdl/abci"
	"github.com/spdl/spdl/abci/proof"
	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/internal/wait"
)

// ProvenAnswer is an answer with a proof. It must not be trusted before the proof is verified.
type ProvenAnswer struct {
	Height int64  `json:"height"` // the height of the state; the next header has the state's application hash
	Key    string `json:"key"`
	proof.Proven
}

// Prove queries a path of the application for an answer with a proof. It does not verify the proof.
func (c *Client) Prove(ctx context.Context, path string) (ProvenAnswer, error) {
	answer, err := c.rpc.ABCIQueryWithOptions(ctx, path, nil, rpcclient.ABCIQueryOptions{Prove: true})
	if err != nil {
		return ProvenAnswer{}, fmt.Errorf("%w: %w", ErrUnreachable, err)
	}
	r := answer.Response
	if r.Code != abci.CodeOK {
		return ProvenAnswer{}, &Refusal{Code: r.Code, Log: r.Log}
	}
	if r.ProofOps == nil || len(r.ProofOps.Ops) == 0 {
		return ProvenAnswer{}, fmt.Errorf("answer to %s has no proof: %w", path, proof.ErrNotProven)
	}
	return ProvenAnswer{Height: r.Height, Key: string(r.Key), Proven: proof.Proven{Value: r.Value, Ops: r.ProofOps}}, nil
}

// Checkpoint returns the node's last checkpoint at or before the given round.
func (c *Client) Checkpoint(ctx context.Context, epoch, round uint64) (query.StateAfter, error) {
	return Ask[query.StateAfter](ctx, c, "/kept/"+place(epoch, round))
}

// State returns the whole current state.
func (c *Client) State(ctx context.Context) (query.StateAfter, error) {
	return Ask[query.StateAfter](ctx, c, "/kept")
}

// HeaderOf returns a light block whose header has the given application hash, the hash of the state after the given
// height. The header of height+1 has this hash, and HeaderOf waits for that header. If the block at height changed
// nothing, the header of height has the hash too. HeaderOf does not verify the light block.
func (c *Client) HeaderOf(ctx context.Context, chainID string, height int64, hash [32]byte) (*types.LightBlock, error) {
	p := c.Provider(chainID)
	var found [2][]byte
	for {
		for i := range found {
			if found[i] != nil {
				continue
			}
			b, err := p.LightBlock(ctx, height+int64(i))
			var bad provider.ErrBadLightBlock
			switch {
			case errors.Is(err, provider.ErrHeightTooHigh), i == 0 && errors.Is(err, provider.ErrLightBlockNotFound):
				continue
			case errors.As(err, &bad):
				return nil, fmt.Errorf("header of height %d: %w", height+int64(i), err)
			case err != nil:
				return nil, fmt.Errorf("%w: header of height %d: %w", ErrUnreachable, height+int64(i), err)
			case bytes.Equal(b.AppHash, hash[:]):
				return b, nil
			}
			found[i] = b.AppHash
		}
		if found[1] != nil {
			return nil, fmt.Errorf("the headers of heights %d and %d have application hashes %X and %X, the proof "+
				"leads to %X: %w",
				height, height+1, found[0], found[1], hash, proof.ErrNotProven)
		}
		if err := wait.For(ctx, 50*time.Millisecond); err != nil {
			return nil, fmt.Errorf("the header of height %d, which has the application hash, is not there yet: %w", height+1,
				err)
		}
	}
}
