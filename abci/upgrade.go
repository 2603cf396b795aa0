package abci

import "github.com/spdl/spdl/app"

// SetEnd gives the application a way to say that a block was the last of its version of
// the state machine, with the state after it. CometBFT goes on once it returns. Call it
// before the node starts.
func (a *Application) SetEnd(ended func(*app.State)) { a.ended = ended }

// SetHold gives the application what FinalizeBlock does with a decided block of another
// version of the state machine, before it refuses the block: CometBFT takes that for
// a failure and panics. If it never returns, CometBFT stands still where it is. Call it
// before the node starts, and after CometBFT has replayed its blocks.
func (a *Application) SetHold(hold func()) { a.hold = hold }

// UpgradeState is the answer to /upgrade.
type UpgradeState struct {
	Version uint64        `json:"version"` // of the state machine, that executes the next height
	Height  uint64        `json:"height"`  // the last
	Planned *app.Upgrade  `json:"planned"` // null where none is
	Made    []app.Upgrade `json:"made"`    // by height
}

func (a *Application) queryUpgrade(s *app.State, _ string) (any, error) {
	u := UpgradeState{Version: a.options.StateMachine, Height: s.Height, Made: nonNil(s.Progress.Upgrades)}
	if made, ok := s.Upgraded(); ok {
		u.Version = made.Version
	}
	if plan, ok := s.Plan(); ok {
		u.Planned, u.Made = &plan, u.Made[:len(u.Made)-1]
	}
	return u, nil
}
