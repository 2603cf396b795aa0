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
