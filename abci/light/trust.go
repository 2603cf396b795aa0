// Package light verifies headers and states, starting from a trusted header.
//
//	Light, HeldHeaders, PinnedHeader  return verified headers by height; an answer or a file is
//	       checked against such a header
//	Chain  is the chain's interface for a worker that runs in another process than its node. It
//	       trusts only the home's genesis: each state must follow from that genesis
//
// Trust, Headers and PinnedHeader need neither network nor disk. A build for a browser (GOOS=js)
// has only these: a browser verifies an exported model offline.
package light

import (
	"context"
	"errors"
	"time"

	"github.com/cometbft/cometbft/types"
)

// ErrNotTrusted is wrapped by every error about a header that does not follow from the trusted header.
var ErrNotTrusted = errors.New("header is not trusted")

// DefaultPeriod is the default of Trust.Period.
const DefaultPeriod = 7 * 24 * time.Hour

// Trust is the root of trust: the height and hash of a header from a source that the verifier trusts.
type Trust struct {
	ChainID string
	Height  int64
	Hash    []byte
	// Period is the trusting period: the time for which validators are trusted after they have
	// signed. The default is DefaultPeriod.
	Period time.Duration
}

// Headers returns verified headers by height.
type Headers interface {
	Header(ctx context.Context, height int64) (*types.LightBlock, error)
}
