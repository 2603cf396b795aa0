package audit

import (
	"context"
	"errors"

	cmtproto "github.com/cometbft/cometbft/proto/tendermint/types"
	"github.com/cometbft/cometbft/types"

	"github.com/spdl/spdl/app"
)

// ErrDamaged means that a block of the chain cannot be read. That is a finding of the audit,
// whereas a source that does not answer is an error.
var ErrDamaged = errors.New("block is damaged")

// A Source returns a chain's blocks in order. It is not safe for concurrent use.
type Source interface {
	// Genesis returns the source's genesis document.
	Genesis() *types.GenesisDoc
	// Next returns the next block, unchecked, or io.EOF after the last.
	Next(ctx context.Context) (*cmtproto.Block, error)
	// Tip returns the tip after the last block, once Next has returned io.EOF.
	Tip(ctx context.Context) (Tip, error)
	// Done returns the share of the chain that has been read, within [0, 1].
	Done() float64
	Close() error
}

// Tip is the part of the next block that checks the last one. Either field may be nil; its check is then skipped.
type Tip struct {
	Commit  *types.Commit // of the last block
	AppHash []byte        // after the last block
}

// Witness is a source that also holds the records and the state of its node, to locate a
// divergence. A nil result means that it does not have the value.
type Witness interface {
	Record(ctx context.Context, epoch, round uint64) (*app.Record, error)
	State(ctx context.Context) (*app.State, error)
}

// doneShare returns the share of the heights from first to last that are below next, and 1 if there is no such height.
func doneShare(first, next, last int64) float64 {
	all := last - first + 1
	if all <= 0 {
		return 1
	}
	return float64(next-first) / float64(all)
}
