package abci

import (
	"context"
	"fmt"

	abcitypes "github.com/cometbft/cometbft/abci/types"

	"github.com/spdl/spdl/abci/genesis"
	"github.com/spdl/spdl/app"
)

// InitChain computes the state before the first block from the genesis. The first Commit stores it.
// After a crash before that Commit, CometBFT calls InitChain again.
func (a *Application) InitChain(_ context.Context, req *abcitypes.RequestInitChain) (*abcitypes.ResponseInitChain,
	error) {
	g, err := app.DecodeGenesis(req.AppStateBytes)
	if err != nil {
		return nil, err
	}
	warnings, err := g.Validate()
	if err != nil {
		return nil, err
	}
	for _, w := range warnings {
		a.log.Warn("genesis: " + w)
	}
	if len(req.Validators) > 0 { // CometBFT always passes at least one
		power := map[string]int64{}
		for _, v := range req.Validators {
			power[string(v.PubKey.GetEd25519())] = v.Power
		}
		if err := g.CheckValidators(power); err != nil {
			return nil, err
		}
	}
	blockBytes := int64(-1)
	if p := req.ConsensusParams; p != nil && p.Block != nil {
		blockBytes = p.Block.MaxBytes
		if err := genesis.CheckConsensus(*p, g, len(req.Validators)); err != nil {
			return nil, err
		}
	}
	s, err := app.NewState(req.ChainId, uint64(req.InitialHeight), blockBytes, g)
	if err != nil {
		return nil, fmt.Errorf("init chain: %w", err)
	}
	a.beforeCommit.Store(true)
	a.publish(s, nil)
	hash := s.Hash()
	return &abcitypes.ResponseInitChain{AppHash: hash[:]}, nil
}
