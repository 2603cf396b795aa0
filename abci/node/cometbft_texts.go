package node

// These are texts of CometBFT v0.40.0 by which a node recognises errors, because CometBFT has no
// types for these errors. A test searches CometBFT's source for each text.
const (
	// CometBFT logs these failures without ending the process.
	saidHalted     = "CONSENSUS FAILURE!!!"
	saidInvalid    = "Error in validation"
	saidSyncFailed = "State sync failed"
	saidUnsigned   = "failed signing vote"
	// These are parts of the reasons in messages with saidHalted or saidInvalid.
	saidCommittedInvalid = "+2/3 committed an invalid block: "
	saidWrongHeader      = "wrong Block.Header."
	saidFuture           = "too far in the future"
)
