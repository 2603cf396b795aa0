package node

import (
	"errors"
	"fmt"

	"github.com/cometbft/cometbft/config"
	sm "github.com/cometbft/cometbft/state"

	"github.com/spdl/spdl/abci/databases"
	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/abci/version"
	"github.com/spdl/spdl/app"
)

// ErrVersion means that the chain needs another version of the state machine than this program has.
var ErrVersion = errors.New("the chain is of another application version")

// checkVersion rejects a home whose next height needs another version of the state machine than
// this program has. Otherwise the node would diverge at the first block on which the two versions
// differ. checkVersion reads the needed version from the application's state. If the application is
// not one height ahead of CometBFT's state, checkVersion also reads the version from that state.
func checkVersion(c *config.Config, d *databases.Set, own *app.State) error {
	if err := checkOwnVersion(c, own); err != nil {
		return err
	}
	db, err := d.Provide(&config.DBContext{ID: "state", Config: c})
	if err != nil {
		return nil // NewNode opens the database again, and returns an error with the database's name
	}
	s, err := sm.NewStore(db, sm.StoreOptions{}).Load()
	if err != nil {
		return fmt.Errorf("state database in %s: %w", c.DBDir(), err)
	}
	if s.LastBlockHeight == 0 || own != nil && own.Height != uint64(s.LastBlockHeight) {
		return nil
	}
	return sameVersion(s.Version.Consensus.App, uint64(s.LastBlockHeight))
}

// checkOwnVersion checks the version that the application's state needs. If the state records no
// upgrade, it checks the version in genesis.
func checkOwnVersion(c *config.Config, own *app.State) error {
	if own == nil {
		return nil
	}
	if err := own.Executable(); err != nil {
		return versionError(own, err)
	}
	if _, ok := own.Upgraded(); ok {
		return nil
	}
	doc, err := home.ReadGenesis(c)
	if err != nil || doc.ConsensusParams == nil {
		return err
	}
	return sameVersion(doc.ConsensusParams.Version.App, own.Height)
}

// sameVersion returns ErrVersion if chainVersion, the chain's version after the given height, is
// not this program's version.
func sameVersion(chainVersion, height uint64) error {
	if chainVersion == app.Version {
		return nil
	}
	return fmt.Errorf("%w: it is of version %d at height %d, this program (%s) executes version %d: start it with a "+
		"release of version %d, as spdl version prints it",
		ErrVersion, chainVersion, height, version.Version, app.Version, chainVersion)
}
