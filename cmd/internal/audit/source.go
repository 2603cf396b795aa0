package audit

import (
	"context"
	"errors"
	"io"

	cmtproto "github.com/cometbft/cometbft/proto/tendermint/types"
	"github.com/cometbft/cometbft/types"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/tx"
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

// Tip is the part of the next block that checks the last one. Either field may be nil; its check
// is then skipped.
type Tip struct {
	Commit  *types.Commit // of the last block
	AppHash []byte        // after the last block
}

// HasLaterEpochs reports whether a chain has begun an epoch after its first, or may have: what a node says
// is not checked. It may read the source to its end.
func HasLaterEpochs(ctx context.Context, src Source) bool {
	switch s := src.(type) {
	case *Home:
		state, err := s.State(ctx)
		return err != nil || state == nil || len(state.Epochs) > 0
	case *Remote:
		epochs, err := s.c.Epochs(ctx)
		return err != nil || len(epochs) != 1
	}
	for {
		b, err := src.Next(ctx)
		if err != nil {
			return !errors.Is(err, io.EOF)
		}
		for _, raw := range b.Data.Txs {
			if t, err := tx.Decode(raw); err == nil && t.Kind() == tx.KindStartEpoch {
				return true
			}
		}
	}
}

// Witness is a source that also holds the records and the state of its node, to locate a
// divergence. A nil result means that it does not have the value.
type Witness interface {
	Record(ctx context.Context, epoch, round uint64) (*app.Record, error)
	State(ctx context.Context) (*app.State, error)
}

// doneShare returns the share of the heights from first to last that are below next, and 1 if there
// is no such height.
func doneShare(first, next, last int64) float64 {
	all := last - first + 1
	if all <= 0 {
		return 1
	}
	return float64(next-first) / float64(all)
}
