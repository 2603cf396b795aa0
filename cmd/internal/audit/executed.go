package audit

import (
	"context"

	cmtproto "github.com/cometbft/cometbft/proto/tendermint/types"
	"github.com/cometbft/cometbft/types"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/tx"
)

// Executed is a block that a replay has checked and executed, with its results.
type Executed struct {
	*app.Outcome
	Before     *app.State // that the block was executed on
	Txs        []*tx.Tx   // of the block, decoded
	Block      *types.Block
	Commit     *types.Commit       // that the replay verified, nil if none is known
	Validators *types.ValidatorSet // that the replay derived for the height
}

// Light returns the block's header with its signatures and validators. Commit must not be nil.
func (b Executed) Light() *types.LightBlock {
	set := b.Validators.Copy()
	set.GetProposer() // sets the proposer, which the encoding needs and no verification reads
	return &types.LightBlock{SignedHeader: &types.SignedHeader{Header: &b.Block.Header, Commit: b.Commit},
		ValidatorSet: set}
}

// Until replays the chain as Run does, and passes every executed block to a function. It ends at
// the function's first error, and returns that error.
func Until(ctx context.Context, src Source, o Options, each func(Executed) error) (*Report, error) {
	var failed error
	o.Executed = func(b Executed) {
		if failed == nil {
			failed = each(b)
		}
	}
	report, err := Run(ctx, stopped{src, &failed}, o)
	if failed != nil {
		return report, failed
	}
	return report, err
}

// stopped is a source that returns an error once the function that gets the blocks has failed.
type stopped struct {
	Source
	failed *error
}

func (s stopped) Next(ctx context.Context) (*cmtproto.Block, error) {
	if *s.failed != nil {
		return nil, *s.failed
	}
	return s.Source.Next(ctx)
}
