package audit

import (
	"context"
	"errors"

	cmtproto "github.com/cometbft/cometbft/proto/tendermint/types"
	"github.com/cometbft/cometbft/types"

	"github.com/spdl/spdl/app"
)

// ErrDamaged means that a block that must exist cannot be read. That is a finding, unlike a source
// that does not answer.
var ErrDamaged = errors.New("block is damaged")

// A Source returns a chain's blocks in order. It is for one goroutine.
type Source interface {
	// Genesis returns the source's genesis document.
	Genesis() *types.GenesisDoc
	// Next returns the next block, unchecked, or io.EOF after the last.
	Next(ctx context.Context) (*cmtproto.Block, error)
	// Tip returns what follows the last block, once Next has returned io.EOF.
	Tip(ctx context.Context) (Tip, error)
	// Done returns the share of the chain that has been read, within [0, 1].
	Done() float64
	Close() error
}

// Tip stands for the header that would follow the last block. Either may be nil:
// then the last block is only checked by what is in it.
type Tip struct {
	Commit  *types.Commit // of the last block
	AppHash []byte        // after the last block
}

// Witness is a source that also holds what its node computed, to say in which part a divergence
// lies. A nil result means that it does not know.
type Witness interface {
	Record(ctx context.Context, epoch, round uint64) (*app.Record, error)
	State(ctx context.Context) (*app.State, error)
}
