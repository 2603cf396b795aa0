package abci

import "github.com/spdl/spdl/app"

// SetEnd sets the callback for the last block of the application's state machine version. The
// callback gets the state after that block. CometBFT continues when the callback returns. It must
// be set before the node starts.
func (a *Application) SetEnd(ended func(*app.State)) { a.ended = ended }

// SetHold sets the callback for a decided block that needs another state machine version.
// FinalizeBlock calls it before it returns an error, on which CometBFT panics; a callback that
// never returns stops CometBFT without a panic. It must be set before the node starts, and after
// CometBFT has replayed its blocks.
func (a *Application) SetHold(hold func()) { a.hold = hold }
