package home

import (
	"errors"

	"github.com/cometbft/cometbft/config"
	cmtstate "github.com/cometbft/cometbft/proto/tendermint/state"
)

// CountValidators returns the number of validators of the chain of a stopped node. It reads the
// state database or, if that has no state or cannot be read, genesis.json. It changes nothing.
func CountValidators(c *config.Config) (int, error) {
	if n, err := storedValidators(c); err == nil && n > 0 {
		return n, nil
	}
	doc, err := ReadGenesis(c)
	if err != nil {
		return 0, err
	}
	return len(doc.Validators), nil
}

// storedValidators returns the number of validators in the state database, 0 if it has no state. CometBFT's own store
// would end the process at a damaged state.
func storedValidators(c *config.Config) (n int, err error) {
	db, err := openStored(c, "state")
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	raw, err := db.Get([]byte("stateKey")) // the key under which CometBFT stores its state
	if err != nil {
		return 0, err
	}
	var s cmtstate.State
	err = s.Unmarshal(raw)
	return len(s.Validators.GetValidators()), err
}
