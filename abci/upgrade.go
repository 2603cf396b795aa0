package abci

import "github.com/spdl/spdl/app"

// SetEnd sets the callback for the last block of the application's state machine version, with the
// state after it. CometBFT goes on once the callback returns. Call SetEnd before the node starts.
func (a *Application) SetEnd(ended func(*app.State)) { a.ended = ended }

// SetHold sets the callback for a decided block of another state machine version. FinalizeBlock
// calls it before it returns an error, on which CometBFT panics. If hold never returns, CometBFT
// stops where it is. Call SetHold before the node starts, and after CometBFT has replayed its
// blocks.
func (a *Application) SetHold(hold func()) { a.hold = hold }

// UpgradeState is the answer to /upgrade.
type UpgradeState struct {
	Version uint64        `json:"version"` // of the state machine, at the next height
	Height  uint64        `json:"height"`  // the last committed
	Planned *app.Upgrade  `json:"planned"` // null if there is none
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
