package databases

// genesisKey is the key of the state database under which CometBFT v0.40.0 keeps the genesis of the
// first start.
const genesisKey = "genesisDoc"

// disagreements are parts of the CometBFT errors which say that its databases are at different
// heights. The errors arrive without their types, so Build compares texts: those of
// sm.ErrAppBlockHeightTooHigh and sm.ErrAppBlockHeightTooLow, and of a state database without the
// ABCI responses of the block store's last height or without the validators of its own last height.
var disagreements = []string{"app block height (", "last stored abci responses", "could not find validator set"}
