package node

// These are texts of CometBFT v0.40.0 on which the behaviour of a node depends, because CometBFT
// has no types for them. A test searches the module's source for each of them.
const (
	// CometBFT logs these failures without ending the process.
	saidHalted     = "CONSENSUS FAILURE!!!"
	saidInvalid    = "Error in validation"
	saidSyncFailed = "State sync failed"
	// These are parts of the reasons after the first two messages.
	saidCommittedInvalid = "+2/3 committed an invalid block: "
	saidWrongHeader      = "wrong Block.Header."
	saidFuture           = "too far in the future"
)
