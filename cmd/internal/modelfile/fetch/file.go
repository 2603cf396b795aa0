// Package fetch gets an exported model from a node.
package fetch

import (
	"context"
	"errors"
	"fmt"

	"github.com/spdl/spdl/abci"
	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/cmd/internal/modelfile"
)

// File returns the model after a closed round with its proof, as a node returns them. If the node
// does not keep the model, File computes it from the nearest state that the node keeps. It then
// calls progress, unless it is nil, with the height of that state and the number of blocks to
// execute. File does not verify the model against a trusted header.
func File(ctx context.Context, c *client.Client, epoch, round uint64,
	progress func(from, blocks uint64)) (*modelfile.File, error) {
	s, err := c.Status(ctx)
	if err != nil {
		return nil, err
	}
	b, err := client.Ask[query.Bundle](ctx, c, fmt.Sprintf("/bundle/%d/%d", epoch, round))
	if err != nil {
		return nil, err
	}
	record, err := app.DecodeRecord(b.Round.Value)
	if err != nil {
		return nil, err
	}
	parameters, err := parametersAfter(ctx, c, record, progress)
	if err != nil {
		return nil, err
	}
	root, err := b.Round.Root()
	if err != nil {
		return nil, err
	}
	header, err := c.HeaderOf(ctx, s.ChainID, int64(b.Height), root)
	if err != nil {
		return nil, err
	}
	f, err := modelfile.New(parameters, header, b.Bundle)
	if err == nil && s.Home != nil && s.Home.Trainer == query.TrainerFree {
		f.Declared()
	}
	return f, err
}

// parametersAfter returns the parameters after a round, from the node or computed from its blocks.
func parametersAfter(ctx context.Context, c *client.Client, r app.Record,
	progress func(from, blocks uint64)) ([]float64, error) {
	m, err := c.ModelOf(ctx, r.Epoch, r.Round)
	var refusal *client.Refusal
	switch {
	case err == nil:
		return app.DecodeParameters(m.Parameters)
	case !errors.As(err, &refusal) || refusal.Code != abci.CodeNotFound:
		return nil, err
	}
	return c.Recompute(ctx, r, progress)
}
