package node

// These are texts of CometBFT v0.40.0 on which the behaviour of a node depends, because CometBFT
// has no types for them. A test searches the module's source for each of them.
const (
	// CometBFT logs these failures without ending the process.
	saidHalted     = "CONSENSUS FAILURE!!!"
	saidInvalid    = "Error in validation"
	saidSyncFailed = "State sync failed"
	// CometBFT logs these messages about a peer at error level, although they also occur in a
	// healthy net.
	saidNotDialed   = "Error dialing peer"
	saidPeerStopped = "Stopping peer for error"
	// These are parts of the reasons after the first two messages.
	saidCommittedInvalid = "+2/3 committed an invalid block: "
	saidWrongHeader      = "wrong Block.Header."
	saidFuture           = "too far in the future"
	// The state database has the genesis of the first start under this key.
	genesisKey = "genesisDoc"
)

// disagreements are parts of the CometBFT errors which mean that its databases are at different
// heights. The errors arrive without their types, so checkStores compares texts. They are those of
// sm.ErrAppBlockHeightTooHigh and sm.ErrAppBlockHeightTooLow, and of a state database without the
// ABCI responses of the block store's last height or without the validators of its own last height.
var disagreements = []string{"app block height (", "last stored abci responses", "could not find validator set"}
