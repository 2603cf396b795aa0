package databases

// genesisKey is the key of the state database under which CometBFT v0.40.0 keeps the genesis of the
// first start.
const genesisKey = "genesisDoc"

// disagreements holds parts of the texts of CometBFT's errors about databases at different heights.
// The errors arrive without their types, so Build compares texts: of sm.ErrAppBlockHeightTooHigh
// and sm.ErrAppBlockHeightTooLow, of a state database without the ABCI responses of the block
// store's last height, and of a state database without the validators of its last height.
var disagreements = []string{"app block height (", "last stored abci responses", "could not find validator set"}
