//go:build !js

package light

import (
	"cmp"
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

// Light follows the chain from the trusted header with CometBFT's light client. Witnesses detect a
// primary that shows a forged chain. Without witnesses the primary is also the witness.
func Light(ctx context.Context, t Trust, primary provider.Provider, witnesses []provider.Provider) (Headers, error) {
	t.Period = cmp.Or(t.Period, DefaultPeriod)
	if len(witnesses) == 0 {
		witnesses = []provider.Provider{primary}
	}
	c, err := cmtlight.NewClient(ctx, t.ChainID, cmtlight.TrustOptions{Period: t.Period, Height: t.Height, Hash: t.Hash},
		primary, witnesses, lightdb.New(dbm.NewMemDB(), t.ChainID))
	if err != nil {
		return nil, rewordError(t.Height, err)
	}
	return lightHeaders{c}, nil
}

type lightHeaders struct{ client *cmtlight.Client }

func (l lightHeaders) Header(ctx context.Context, height int64) (*types.LightBlock, error) {
	b, err := l.client.VerifyLightBlockAtHeight(ctx, height, time.Now())
	if err != nil {
		return nil, rewordError(height, err)
	}
	return b, nil
}

// rewordError rewords an error of the light client and wraps it in ErrNotTrusted or client.ErrUnreachable.
func rewordError(height int64, err error) error {
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
		return tooFewError(at, few, err)
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
