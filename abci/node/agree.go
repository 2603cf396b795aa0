package node

import (
	"errors"
	"fmt"
	"strings"

	"github.com/cometbft/cometbft/config"
	cmtnode "github.com/cometbft/cometbft/node"
	sm "github.com/cometbft/cometbft/state"

	"github.com/spdl/spdl/abci"
)

// errVersion reports a chain of another state machine.
var errVersion = errors.New("the chain in this home is of another application version")

// checkVersion refuses a chain that another state machine has executed: this one
// would part from the others at the first block in which they differ.
func checkVersion(c *config.Config, d *databases) error {
	db, err := d.provide(&config.DBContext{ID: "state", Config: c})
	if err != nil {
		return nil // NewNode opens it again, and says which it is
	}
	s, err := sm.NewStore(db, sm.StoreOptions{}).Load()
	if err != nil {
		return fmt.Errorf("state database in %s: %w", c.DBDir(), err)
	}
	if made := s.Version.Consensus.App; s.LastBlockHeight > 0 && made != abci.AppVersion {
		return fmt.Errorf("%w: it is of version %d at height %d, this program (%s) executes version %d: start it with a release of version %d, as spdl version prints it",
			errVersion, made, s.LastBlockHeight, abci.Version, abci.AppVersion, made)
	}
	return nil
}

// errDisagree reports databases that are not of one moment.
var errDisagree = errors.New("the databases of this home disagree")

// agreeing builds a node. CometBFT panics where its stores are of different heights,
// which is a state of the disk and no fault of the program.
func agreeing(c *config.Config, build func() (*cmtnode.Node, error)) (n *cmtnode.Node, err error) {
	disagree := func(what any) error {
		return fmt.Errorf("%w: %v; the databases in %s are damaged, or were put back one by one. Put back the whole folder as it was while the node was stopped, "+
			"if no block was signed since; or run spdl unsafe-reset-all --yes and sync again", errDisagree, what, c.DBDir())
	}
	defer func() {
		if r := recover(); r != nil {
			n, err = nil, disagree(r)
		}
	}()
	n, err = build()
	if err != nil && strings.Contains(err.Error(), "app block height (") { // sm.ErrAppBlockHeightTooHigh, or TooLow, as text alone
		return nil, disagree(err)
	}
	return n, err
}
