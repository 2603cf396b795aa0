package audit

import (
	"context"
	"errors"

	cmtproto "github.com/cometbft/cometbft/proto/tendermint/types"
	"github.com/cometbft/cometbft/types"

	"github.com/spdl/spdl/app"
)

// ErrDamaged tells that a block cannot be read where one must be: a finding, in
// contrast to a source that does not answer.
var ErrDamaged = errors.New("block is damaged")

// Source gives a chain's blocks in order. It is used by one goroutine.
type Source interface {
	// Genesis is the genesis document that the source holds.
	Genesis() *types.GenesisDoc
	// Next is the next block, unchecked; io.EOF after the last.
	Next(ctx context.Context) (*cmtproto.Block, error)
	// Tip is what follows the last block, once Next has returned io.EOF.
	Tip(ctx context.Context) (Tip, error)
	// Done is the share of the chain that has been read, within [0, 1].
	Done() float64
	Close() error
}

// Tip stands for the header that would follow the last block. Either may be nil:
// then the last block is only checked by what is in it.
type Tip struct {
	Commit  *types.Commit // of the last block
	AppHash []byte        // after the last block
}

// Witness is a source that also holds what its node computed, to say in which
// part a divergence lies. Nil results tell that it does not know.
type Witness interface {
	Record(ctx context.Context, epoch, round uint64) (*app.Record, error)
	State(ctx context.Context) (*app.State, error)
}
