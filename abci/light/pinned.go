package light

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/cometbft/cometbft/types"
)

// PinnedHeader returns Headers with only one header, which comes from a file. It checks the header's height and hash
// against t, and the signatures of the header's validators. It makes no requests.
func PinnedHeader(t Trust, block *types.LightBlock) Headers { return pinnedHeader{t, block} }

type pinnedHeader struct {
	trust Trust
	block *types.LightBlock
}

func (p pinnedHeader) Header(_ context.Context, height int64) (*types.LightBlock, error) {
	b := p.block
	switch {
	case height != b.Height:
		return nil, fmt.Errorf("%w: asked for height %d, there is %d alone", ErrNotTrusted, height, b.Height)
	case p.trust.Height != 0 && p.trust.Height != b.Height:
		return nil, fmt.Errorf("%w: trusted is height %d, the file has the header of %d: without a node only that one "+
			"can be trusted", ErrNotTrusted, p.trust.Height, b.Height)
	case b.ChainID != p.trust.ChainID:
		return nil, fmt.Errorf("%w: header of chain %q, want %q", ErrNotTrusted, b.ChainID, p.trust.ChainID)
	}
	if err := b.ValidateBasic(p.trust.ChainID); err != nil {
		return nil, fmt.Errorf("%w: height %d: %w", ErrNotTrusted, b.Height, err)
	}
	if !bytes.Equal(b.Hash(), p.trust.Hash) {
		return nil, fmt.Errorf("%w: header of height %d has hash %X, trusted is %X", ErrNotTrusted, b.Height, b.Hash(),
			p.trust.Hash)
	}
	err := b.ValidatorSet.VerifyCommitLight(b.ChainID, b.Commit.BlockID, b.Height, b.Commit)
	var few types.ErrNotEnoughVotingPowerSigned
	switch {
	case errors.As(err, &few):
		return nil, tooFewError(b.Height, few, err)
	case err != nil:
		return nil, fmt.Errorf("%w: height %d: %w", ErrNotTrusted, b.Height, err)
	}
	return b, nil
}

// tooFewError rewords the error about a header with too few signatures.
func tooFewError(height int64, few types.ErrNotEnoughVotingPowerSigned, err error) error {
	return fmt.Errorf("%w: the header of height %d is signed by validators of power %d, it takes more than two thirds "+
		"of all: more than %d: %w", ErrNotTrusted, height, few.Got, few.Needed, err)
}
