package dossier

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	cmtproto "github.com/cometbft/cometbft/proto/tendermint/types"
	"github.com/cometbft/cometbft/types"

	"github.com/spdl/spdl/abci/light"
)

// Chain holds the headers of a dossier, of consecutive heights. Each header names the hash of the
// previous one, so if one header is trusted, all headers before it are too.
type Chain struct {
	Headers []*types.Header
	Signed  []*types.LightBlock // some of them with signatures and validators, by height; the last is
}

// First returns the height of the first header.
func (c Chain) First() int64 { return c.Headers[0].Height }

// Last returns the last header.
func (c Chain) Last() *types.Header { return c.Headers[len(c.Headers)-1] }

// At returns the header of a height, or nil if the chain has none.
func (c Chain) At(height uint64) *types.Header {
	if height < uint64(c.First()) || height-uint64(c.First()) >= uint64(len(c.Headers)) {
		return nil
	}
	return c.Headers[height-uint64(c.First())]
}

// Header implements light.Headers. The caller must trust the chain.
func (c Chain) Header(_ context.Context, height int64) (*types.LightBlock, error) {
	if h := c.At(uint64(max(height, 0))); h != nil {
		return &types.LightBlock{SignedHeader: &types.SignedHeader{Header: h}}, nil
	}
	return nil, fmt.Errorf("%w: no header of height %d, they go from %d to %d", ErrDossier, height, c.First(),
		c.Last().Height)
}

// Chain decodes the headers of the evidence, and checks that they form one chain with the signed
// headers in it, which ends with the header of the proofs.
func (e *Evidence) Chain() (c Chain, err error) {
	for i, raw := range e.Headers {
		var p cmtproto.Header
		err := p.Unmarshal(raw)
		var h types.Header
		if err == nil {
			h, err = types.HeaderFromProto(&p)
		}
		if err = errors.Join(err, h.ValidateBasic()); err != nil {
			return c, fmt.Errorf("%w: header %d: %w", ErrDossier, i, err)
		}
		if i > 0 {
			before := c.Headers[i-1]
			if h.Height != before.Height+1 || !bytes.Equal(h.LastBlockID.Hash, before.Hash()) || h.ChainID != before.ChainID {
				return c, fmt.Errorf("%w: the header of height %d of chain %q does not follow that of height %d of %q", ErrDossier,
					h.Height, h.ChainID, before.Height, before.ChainID)
			}
		}
		c.Headers = append(c.Headers, &h)
	}
	if c.Signed, err = e.Log.Blocks(); err != nil {
		return c, fmt.Errorf("%w: %w", ErrDossier, err)
	}
	n := len(c.Signed)
	if n == 0 || len(c.Headers) == 0 || c.Signed[n-1].Height != c.Last().Height ||
		!bytes.Equal(e.Log.Headers[n-1].Light, e.Bundle.Header) {
		return c, fmt.Errorf("%w: its %d headers and its %d signed headers do not end with the header of the proofs",
			ErrDossier, len(c.Headers), n)
	}
	for _, b := range c.Signed {
		if h := c.At(uint64(b.Height)); h == nil || !bytes.Equal(h.Hash(), b.Hash()) {
			return c, fmt.Errorf("%w: the signed header of height %d is not in its chain of headers", ErrDossier, b.Height)
		}
	}
	return c, nil
}

// Trust returns an error unless all headers follow from a trusted header: those before it by their
// hashes, those after it by the rules of a light client.
func (c Chain) Trust(t light.Trust) error {
	if t.ChainID != c.Last().ChainID {
		return fmt.Errorf("%w: it is of chain %q, want %q", light.ErrNotTrusted, c.Last().ChainID, t.ChainID)
	}
	h := c.At(uint64(max(t.Height, 0)))
	if h == nil {
		return fmt.Errorf("%w: trusted is height %d, the dossier has the headers from %d to %d: take one of these",
			light.ErrNotTrusted, t.Height, c.First(), c.Last().Height)
	}
	if !bytes.Equal(h.Hash(), t.Hash) {
		return fmt.Errorf("%w: header of height %d has hash %X, trusted is %X", light.ErrNotTrusted, t.Height,
			h.Hash(), t.Hash)
	}
	var from *types.LightBlock
	for _, b := range c.Signed {
		if b.Height <= t.Height {
			from = b
		}
	}
	if from == nil {
		return fmt.Errorf("%w: the dossier has no signatures of height %d or before", light.ErrNotTrusted, t.Height)
	}
	t.Height, t.Hash = from.Height, from.Hash() // a header before the trusted one, or that one itself
	held, err := light.HeldHeaders(t, c.Signed)
	if err != nil {
		return err
	}
	_, err = held.Header(context.Background(), c.Last().Height)
	return err
}
