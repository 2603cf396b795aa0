package verify

import (
	"context"
	"fmt"

	"github.com/cometbft/cometbft/types"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/cmd/spdl/internal/modelfile"
)

// Model checks an exported model down to its last byte: the file against its
// proof, the proof against the header that the light client trusts.
func Model(ctx context.Context, f *modelfile.File, h Headers) (*types.LightBlock, error) {
	if err := f.Check(); err != nil {
		return nil, err
	}
	b, err := h.Header(ctx, f.Card.Height)
	if err != nil {
		return nil, err
	}
	own, err := f.Header()
	if err != nil {
		return nil, err
	}
	if b.ChainID != f.Card.ChainID {
		return b, fmt.Errorf("%w: the file is of chain %q, the header of %q", app.ErrNotProven, f.Card.ChainID, b.ChainID)
	}
	if string(b.AppHash) != string(own.AppHash) {
		return b, fmt.Errorf("%w: the file leads to application hash %X, the chain's header of height %d has %X", app.ErrNotProven, own.AppHash, b.Height, b.AppHash)
	}
	return b, nil
}

// Answer checks a node's answer to a proven query. Asked is the key of the value
// that was asked for, height that of the header which has the application hash.
func Answer(ctx context.Context, asked string, p client.Proven, height int64, h Headers) (*types.LightBlock, error) {
	b, err := h.Header(ctx, height)
	if err != nil {
		return nil, err
	}
	if err := Runtime().VerifyValue(p.Ops, b.AppHash, KeyPath(asked), p.Value); err != nil {
		return b, fmt.Errorf("%w: %s against the header of height %d: %w", app.ErrNotProven, asked, height, err)
	}
	return b, nil
}

// Root is the application hash that an answer leads to, to find its header by.
func Root(p client.Proven) (root [32]byte, err error) {
	ops, err := Runtime().DecodeProof(p.Ops)
	if err != nil {
		return root, fmt.Errorf("%w: %w", app.ErrNotProven, err)
	}
	args := [][]byte{p.Value}
	for _, op := range ops {
		if args, err = op.Run(args); err != nil {
			return root, err
		}
	}
	if len(args[0]) != len(root) {
		return root, fmt.Errorf("%w: it leads to %d bytes", app.ErrNotProven, len(args[0]))
	}
	return [32]byte(args[0]), nil
}
