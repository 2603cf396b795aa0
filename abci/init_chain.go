package abci

import (
	"context"
	"fmt"

	abcitypes "github.com/cometbft/cometbft/abci/types"

	"github.com/spdl/spdl/app"
)

// InitChain builds the state before the first block from genesis. It is not
// stored until the first Commit, so a crash before it begins anew.
func (a *Application) InitChain(_ context.Context, req *abcitypes.RequestInitChain) (*abcitypes.ResponseInitChain, error) {
	g, err := app.DecodeGenesis(req.AppStateBytes)
	if err != nil {
		return nil, err
	}
	warnings, err := g.Validate()
	if err != nil {
		return nil, err
	}
	for _, w := range warnings {
		a.log.Error("genesis", "warning", w)
	}
	if err := checkValidators(g, req.Validators); err != nil {
		return nil, err
	}
	blockBytes := int64(-1)
	if p := req.ConsensusParams; p != nil && p.Block != nil {
		blockBytes = p.Block.MaxBytes
		if err := CheckConsensus(*p, g, len(req.Validators)); err != nil {
			return nil, err
		}
	}
	s, err := app.NewState(req.ChainId, uint64(req.InitialHeight), blockBytes, g)
	if err != nil {
		return nil, fmt.Errorf("init chain: %w", err)
	}
	a.fresh.Store(true)
	a.publish(s)
	hash := s.Hash()
	return &abcitypes.ResponseInitChain{AppHash: hash[:]}, nil
}

// checkValidators refuses a genesis whose participants name consensus keys that
// are no validator's of the power that theirs have: a later removal of such a
// key would halt CometBFT.
func checkValidators(g app.Genesis, validators []abcitypes.ValidatorUpdate) error {
	power := map[string]int64{}
	for _, v := range validators {
		power[string(v.PubKey.GetEd25519())] = v.Power
	}
	for _, p := range g.Participants {
		if got := power[string(p.ConsensusKey)]; len(p.ConsensusKey) > 0 && len(validators) > 0 && got != app.Power {
			return fmt.Errorf("%w: the validator of participant %d (%q) has power %d in genesis, want %d", app.ErrGenesis, p.Index, p.Moniker, got, app.Power)
		}
	}
	return nil
}
