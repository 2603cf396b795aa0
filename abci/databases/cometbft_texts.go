package databases

// genesisKey is the key of the state database under which CometBFT v0.40.0 keeps the genesis of the first start.
const genesisKey = "genesisDoc"

// disagreements holds parts of the texts of CometBFT's errors about databases at different heights.
// Build compares texts, because the errors arrive without their types. The errors are
// sm.ErrAppBlockHeightTooHigh and sm.ErrAppBlockHeightTooLow, missing ABCI responses for the block
// store's last height, and missing validators of the last height.
var disagreements = []string{"app block height (", "last stored abci responses", "could not find validator set"}
