package node

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"

	"github.com/cometbft/cometbft/config"
	cmtjson "github.com/cometbft/cometbft/libs/json"
	cmtnode "github.com/cometbft/cometbft/node"
	sm "github.com/cometbft/cometbft/state"
	"github.com/cometbft/cometbft/types"

	"github.com/spdl/spdl/abci"
	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app"
)

// ErrVersion means that another version of the state machine, in another release of the program,
// executes a height.
var ErrVersion = errors.New("the chain is of another application version")

// checkVersion rejects a home whose next height needs another version of the state machine, because
// this version would diverge at the first block on which the two differ. It reads the needed
// version from the application's state. It also checks CometBFT's state if the application has none
// or both are at the same height; the application stores a height first.
func checkVersion(c *config.Config, d *databases, own *app.State) error {
	if err := checkOwnVersion(c, own); err != nil {
		return err
	}
	db, err := d.provide(&config.DBContext{ID: "state", Config: c})
	if err != nil {
		return nil // NewNode opens it again, and returns an error that names the database
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

// checkOwnVersion is the part of checkVersion for the application's state.
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

// errOtherGenesis means that the databases belong to another chain than genesis.json.
var errOtherGenesis = errors.New("genesis.json is not the genesis of this home's data")

// checkGenesis rejects a genesis.json that was replaced after the home's first start. CometBFT
// would continue with the genesis of the first start, while this program's worker would use the
// file.
func checkGenesis(c *config.Config, d *databases) error {
	db, err := d.provide(&config.DBContext{ID: "state", Config: c})
	if err != nil {
		return nil // NewNode opens it again, and returns an error that names the database
	}
	raw, err := db.Get([]byte(genesisKey))
	if err != nil || len(raw) == 0 {
		return err
	}
	var first types.GenesisDoc
	if err := cmtjson.Unmarshal(raw, &first); err != nil {
		return fmt.Errorf("genesis in the state database in %s: %w", c.DBDir(), err)
	}
	file, err := home.ReadGenesis(c)
	if err != nil {
		return err
	}
	one, err := cmtjson.Marshal(&first)
	if err != nil {
		return err
	}
	other, err := cmtjson.Marshal(file)
	if err != nil || bytes.Equal(one, other) {
		return err
	}
	return fmt.Errorf("%w: %s began with chain %s (%.8x), the file is of chain %s (%.8x): put the former file back, or "+
		"let spdl unsafe-reset-all --yes delete the data and keep the keys", errOtherGenesis, c.DBDir(), first.ChainID,
		sha256.Sum256(one), file.ChainID, sha256.Sum256(other))
}

// sameVersion returns an error unless this program executes the version that a chain has after a
// height.
func sameVersion(made, height uint64) error {
	if made == app.Version {
		return nil
	}
	return fmt.Errorf("%w: it is of version %d at height %d, this program (%s) executes version %d: start it with a "+
		"release of version %d, as spdl version prints it",
		ErrVersion, made, height, abci.Version, app.Version, made)
}

// errStoresDisagree means that the databases have data of different moments.
var errStoresDisagree = errors.New("the databases of this home disagree")

// checkValidators returns an error if the state database lacks the validators of the last height,
// as happens when LevelDB drops damaged records. CometBFT would panic at the next block.
func checkValidators(c *config.Config, d *databases) error {
	db, err := d.provide(&config.DBContext{ID: "state", Config: c})
	if err != nil {
		return err
	}
	store := sm.NewStore(db, sm.StoreOptions{})
	s, err := store.Load()
	if err != nil || s.LastBlockHeight == 0 {
		return err
	}
	_, err = store.LoadValidators(s.LastBlockHeight)
	return err
}

// checkStores builds a node. If CometBFT panics because its stores are at different heights,
// checkStores returns an error instead, because the disk is at fault and not the program.
func checkStores(c *config.Config, build func() (*cmtnode.Node, error)) (n *cmtnode.Node, err error) {
	disagree := func(what any) error {
		return fmt.Errorf("%w: %v; the databases in %s are damaged, or were put back one by one. Put back the whole "+
			"folder as it was while the node was stopped, "+
			"if no block was signed since; or run spdl unsafe-reset-all --yes and sync again", errStoresDisagree, what,
			c.DBDir())
	}
	defer func() {
		if r := recover(); r != nil {
			n, err = nil, disagree(r)
		}
	}()
	n, err = build()
	if err != nil {
		n = nil
	}
	for _, text := range disagreements {
		if err != nil && strings.Contains(err.Error(), text) {
			return nil, disagree(err)
		}
	}
	return n, err
}
