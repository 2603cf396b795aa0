package databases

// genesisKey is the key of the state database under which CometBFT v0.40.0 keeps the genesis of the
// first start.
const genesisKey = "genesisDoc"

// disagreements holds parts of the texts of CometBFT's errors about databases at different heights.
// The errors arrive without their types, so Build compares texts. The texts are those of
// sm.ErrAppBlockHeightTooHigh and sm.ErrAppBlockHeightTooLow, of the error that the state database
// lacks the ABCI responses of the block store's last height, and of the error that it lacks the
// validators of its last height.
var disagreements = []string{"app block height (", "last stored abci responses", "could not find validator set"}
