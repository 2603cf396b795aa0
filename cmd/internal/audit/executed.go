package audit

import (
	"github.com/cometbft/cometbft/types"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
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

// ParamsOf returns the parameters of an epoch, which may have ended in the state's last block.
func ParamsOf(s *app.State, epoch uint64) params.Params {
	for _, e := range s.Epochs {
		if e.Epoch == epoch {
			return e.Params
		}
	}
	return s.Params
}

// Light returns the block's header with its signatures and validators. Commit must not be nil.
func (b Executed) Light() *types.LightBlock {
	set := b.Validators.Copy()
	set.GetProposer() // sets the proposer, which the encoding needs and no verification reads
	return &types.LightBlock{SignedHeader: &types.SignedHeader{Header: &b.Block.Header, Commit: b.Commit},
		ValidatorSet: set}
}
