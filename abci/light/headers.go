// Package light verifies headers and states that follow from a trusted header.
//
//	Light, Pinned  headers by height, to check an answer or a file against
//	Chain          the chain as seen by a worker outside its node's process: each state
//	               follows from the home's genesis, whatever the node says
package light

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"time"

	dbm "github.com/cometbft/cometbft-db"
	cmtlight "github.com/cometbft/cometbft/light"
	"github.com/cometbft/cometbft/light/provider"
	lightdb "github.com/cometbft/cometbft/light/store/db"
	"github.com/cometbft/cometbft/types"

	"github.com/spdl/spdl/abci/client"
)

// ErrNotTrusted wraps every reason why a header does not follow from the trusted
// one.
var ErrNotTrusted = errors.New("header is not trusted")

// DefaultPeriod is the default of Trust.Period.
const DefaultPeriod = 7 * 24 * time.Hour

// Trust is the root of trust: the height and hash of a header from a source that the verifier
// trusts.
type Trust struct {
	ChainID string
	Height  int64
	Hash    []byte
	// Period is the trusting period: how long validators are trusted after they have signed.
	// Default DefaultPeriod.
	Period time.Duration
}

// Headers gives verified headers.
type Headers interface {
	Header(ctx context.Context, height int64) (*types.LightBlock, error)
}

// Light follows the chain from the trusted header with CometBFT's light client. Witnesses expose a
// primary that forks; without witnesses the primary is its own witness.
func Light(ctx context.Context, t Trust, primary provider.Provider, witnesses []provider.Provider) (Headers, error) {
	if t.Period == 0 {
		t.Period = DefaultPeriod
	}
	if len(witnesses) == 0 {
		witnesses = []provider.Provider{primary}
	}
	c, err := cmtlight.NewClient(ctx, t.ChainID, cmtlight.TrustOptions{Period: t.Period, Height: t.Height, Hash: t.Hash},
		primary, witnesses, lightdb.New(dbm.NewMemDB(), t.ChainID))
	if err != nil {
		return nil, reason(t.Height, err)
	}
	return lightHeaders{c}, nil
}

type lightHeaders struct{ client *cmtlight.Client }

func (l lightHeaders) Header(ctx context.Context, height int64) (*types.LightBlock, error) {
	b, err := l.client.VerifyLightBlockAtHeight(ctx, height, time.Now())
	if err != nil {
		return nil, reason(height, err)
	}
	return b, nil
}

// Pinned trusts one header, with the trusted height and hash, and takes its bytes from a file: it
// makes no requests. It still checks that the header's validators signed it.
func Pinned(t Trust, block *types.LightBlock) Headers { return pinned{t, block} }

type pinned struct {
	trust Trust
	block *types.LightBlock
}

func (p pinned) Header(_ context.Context, height int64) (*types.LightBlock, error) {
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
	if err := b.ValidatorSet.VerifyCommitLight(b.ChainID, b.Commit.BlockID, b.Height, b.Commit); err != nil {
		return nil, reason(height, err)
	}
	return b, nil
}

// reason rewords an error of the light client and wraps it in ErrNotTrusted or
// client.ErrUnreachable.
func reason(height int64, err error) error {
	var (
		invalid cmtlight.ErrInvalidHeader
		failed  cmtlight.ErrVerificationFailed
		few     types.ErrNotEnoughVotingPowerSigned
		expired cmtlight.ErrOldHeaderExpired
		bad     provider.ErrBadLightBlock
		network *url.Error
		set     cmtlight.ErrNewValSetCantBeTrusted
	)
	at := height
	if errors.As(err, &failed) {
		at = failed.To
	}
	inner := err
	if errors.As(err, &invalid) {
		inner = invalid.Reason
	}
	switch {
	case errors.As(inner, &few):
		return fmt.Errorf("%w: the header of height %d is signed by validators of power %d, it takes more than two thirds "+
			"of all: more than %d: %w", ErrNotTrusted, at, few.Got, few.Needed, err)
	case errors.As(err, &set):
		return fmt.Errorf("%w: the header of height %d is signed by less than a third of the validators trusted before, "+
			"and the node does not show what is between: %w", ErrNotTrusted, at, err)
	case errors.As(err, &expired):
		return fmt.Errorf("%w: the trusted header is older than the trusting period: take a newer one (--trust-height and "+
			"--trust-hash, or worker.trust_height and trust_hash in app.toml): %w", ErrNotTrusted, err)
	case errors.Is(err, cmtlight.ErrLightClientAttack):
		return fmt.Errorf("%w: a witness has another, valid header: %w", ErrNotTrusted, err)
	case errors.As(err, &bad):
		return fmt.Errorf("%w: height %d: %w", ErrNotTrusted, at, bad.Reason)
	case errors.Is(err, provider.ErrHeightTooHigh), errors.Is(err, provider.ErrLightBlockNotFound):
		return fmt.Errorf("%w: the node does not have height %d: %w", ErrNotTrusted, at, err)
	case errors.As(err, &network), errors.Is(err, provider.ErrNoResponse), errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%w: %w", client.ErrUnreachable, err)
	}
	return fmt.Errorf("%w: height %d: %w", ErrNotTrusted, at, err)
}
