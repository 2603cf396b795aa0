package node

// Texts of CometBFT v0.40.0 that decide what a node does, because CometBFT gives them no type. A
// test finds each of them in the module's source.
const (
	// Messages of failures that CometBFT only logs, without ending the process.
	saidHalted     = "CONSENSUS FAILURE!!!"
	saidInvalid    = "Error in validation"
	saidSyncFailed = "State sync failed"
	// Messages about a peer, at error level, that also occur in a healthy net.
	saidNotDialed   = "Error dialing peer"
	saidPeerStopped = "Stopping peer for error"
	// Parts of the reasons that follow them.
	saidCommittedInvalid = "+2/3 committed an invalid block: "
	saidWrongHeader      = "wrong Block.Header."
	saidFuture           = "too far in the future"
	// The key of the state database under which CometBFT keeps the genesis of the first start.
	genesisKey = "genesisDoc"
)

// disagreements are parts of the CometBFT errors which say that its databases are at different
// heights. The errors arrive without their types, so checkStores compares texts: those of
// sm.ErrAppBlockHeightTooHigh and sm.ErrAppBlockHeightTooLow, and of a state database without the
// ABCI responses of the block store's last height or without the validators of its own last height.
var disagreements = []string{"app block height (", "last stored abci responses", "could not find validator set"}
