package abci

import (
	"context"

	abcitypes "github.com/cometbft/cometbft/abci/types"
)

// Info returns the last committed height and application hash. CometBFT replays the blocks after that height.
func (a *Application) Info(context.Context, *abcitypes.RequestInfo) (*abcitypes.ResponseInfo, error) {
	r := &abcitypes.ResponseInfo{Data: "spdl", Version: a.options.Program, AppVersion: a.options.StateMachine}
	if s := a.state.Load(); s != nil && !a.beforeCommit.Load() {
		hash := s.Hash()
		r.LastBlockHeight = int64(s.Height)
		r.LastBlockAppHash = hash[:]
	}
	return r, nil
}
