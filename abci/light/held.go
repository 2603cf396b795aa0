//go:build !js

package light

import (
	"context"
	"fmt"
	"time"

	cmtmath "github.com/cometbft/cometbft/libs/math"
	cmtlight "github.com/cometbft/cometbft/light"
	"github.com/cometbft/cometbft/types"
)

// Genesis returns a Trust in the header of first, the first block of the chain of the genesis doc. It returns an error
// if first is not that block, or is not signed by the validators of the genesis.
func Genesis(doc *types.GenesisDoc, first *types.LightBlock) (Trust, error) {
	s, err := genesisState(doc)
	if err != nil {
		return Trust{}, err
	}
	if err := first.ValidateBasic(doc.ChainID); err != nil {
		return Trust{}, fmt.Errorf("%w: height %d: %w", ErrNotTrusted, first.Height, err)
	}
	return Trust{ChainID: doc.ChainID, Height: first.Height, Hash: first.Hash()}, checkFirst(doc, s, first)
}

// HeldHeaders returns Headers with the blocks in a file, and makes no requests. By the rules of CometBFT's light client
// each header must follow from the previous header, beginning with the trusted header. A step to the next height needs
// signatures of the validators that the previous header names. A longer step needs signatures of more than two thirds
// of the previous header's validators, so the file must have the headers on both sides of a change of validators.
// HeldHeaders has no trusting period, because a file is read long after its headers were signed. So two thirds of the
// trusted header's validators could together sign a false history, long after they have left.
func HeldHeaders(t Trust, blocks []*types.LightBlock) (Headers, error) {
	h := heldHeaders{t, map[int64]*types.LightBlock{}}
	var last *types.LightBlock
	for _, b := range blocks {
		switch {
		case b.Height < t.Height:
			continue // verification leads only from lower to higher headers
		case last == nil && b.Height != t.Height:
			return nil, fmt.Errorf("%w: the file has no header of height %d; its first later one is of %d", ErrNotTrusted,
				t.Height, b.Height)
		case last == nil:
			if _, err := PinnedHeader(t, b).Header(context.Background(), b.Height); err != nil {
				return nil, err
			}
		default:
			if err := checkFollows(last, b); err != nil {
				return nil, err
			}
		}
		last, h.blocks[b.Height] = b, b
	}
	if last == nil {
		return nil, fmt.Errorf("%w: the file has no header of height %d or above", ErrNotTrusted, t.Height)
	}
	return h, nil
}

// checkFollows returns an error if header b does not follow from header a, which is trusted.
func checkFollows(a, b *types.LightBlock) error {
	if b.Height <= a.Height {
		return fmt.Errorf("%w: the header of height %d comes after that of %d", ErrNotTrusted, b.Height, a.Height)
	}
	if err := b.ValidateBasic(a.ChainID); err != nil {
		return fmt.Errorf("%w: height %d: %w", ErrNotTrusted, b.Height, err)
	}
	now := time.Now()
	// The trusting period of header a lasts beyond now and beyond the time of header b, so Verify
	// never finds header a expired.
	period := max(now.Sub(a.Time), b.Time.Sub(a.Time)) + time.Hour
	if err := cmtlight.Verify(a.SignedHeader, a.ValidatorSet, b.SignedHeader, b.ValidatorSet, period, now,
		clockDrift, cmtmath.Fraction{Numerator: 2, Denominator: 3}); err != nil {
		return rewordError(b.Height, err)
	}
	return nil
}

type heldHeaders struct {
	trust  Trust
	blocks map[int64]*types.LightBlock
}

func (h heldHeaders) Header(_ context.Context, height int64) (*types.LightBlock, error) {
	b := h.blocks[height]
	switch {
	case height < h.trust.Height:
		return nil, fmt.Errorf("%w: height %d is before the trusted header of %d, and without a node nothing leads back",
			ErrNotTrusted, height, h.trust.Height)
	case b == nil:
		return nil, fmt.Errorf("%w: the file has no header of height %d", ErrNotTrusted, height)
	}
	return b, nil
}
