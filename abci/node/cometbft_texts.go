package node

// Texts of CometBFT v0.40.0 that decide what a node does, because CometBFT gives them no type. A
// test finds each of them in the module's source.
const (
	// Messages of failures that CometBFT only logs, without ending the process.
	saidHalted     = "CONSENSUS FAILURE!!!"
	saidInvalid    = "Error in validation"
	saidSyncFailed = "State sync failed"
	// Parts of the reasons that follow them.
	saidCommittedInvalid = "+2/3 committed an invalid block: "
	saidWrongHeader      = "wrong Block.Header."
	saidFuture           = "too far in the future"
)

// disagreements are texts from CometBFT's errors about such databases, which arrive
// without their types: sm.ErrAppBlockHeightTooHigh and TooLow, and the errors of a state
// database that lost the ABCI responses of the block store's last height, or the
// validators of its own.
var disagreements = []string{"app block height (", "last stored abci responses", "could not find validator set"}
