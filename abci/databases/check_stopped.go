package databases

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	dbm "github.com/cometbft/cometbft-db"
	"github.com/cometbft/cometbft/config"
	sm "github.com/cometbft/cometbft/state"

	"github.com/spdl/spdl/abci/store"
)

// CheckStopped checks the databases of a stopped node, and returns the height of the last block, 0
// if there is none. It fails with store.ErrDamage if a database is damaged, and with ErrDisagree if
// the node could not start with the heights of its databases. It does not create missing databases.
func CheckStopped(c *config.Config) (height int64, err error) {
	var d Set
	defer func() {
		if r := recover(); r != nil { // CometBFT's stores panic on bytes that they cannot read
			err = disagree(c, r)
		}
		err = errors.Join(err, d.Close())
	}()
	opened := map[string]dbm.DB{}
	for _, id := range []string{"application", "state", "blockstore", "evidence", "tx_index"} {
		_, err := os.Stat(filepath.Join(c.DBDir(), id+".db"))
		if errors.Is(err, os.ErrNotExist) {
			opened[id] = dbm.NewMemDB()
			continue
		}
		if opened[id], err = d.open(&config.DBContext{ID: id, Config: c}); err != nil {
			return 0, err
		}
	}
	blocks, err := store.OpenBlocks(opened["blockstore"])
	if err != nil {
		return 0, err
	}
	s, err := sm.NewStore(opened["state"], sm.StoreOptions{}).Load()
	if err != nil {
		return 0, err
	}
	application, err := store.New(opened["application"]).State()
	if err != nil {
		return 0, store.DamageOf("application", err)
	}
	own := int64(0)
	if application != nil {
		own = int64(application.Height)
	}
	height = blocks.Height()
	switch {
	case height == 0 && s.LastBlockHeight == 0 && c.StateSync.Enable: // a state sync has not finished
	case s.LastBlockHeight > height, s.LastBlockHeight < height-1, own > height, own < blocks.Base()-1:
		return height, disagree(c, fmt.Sprintf("the blocks are %d to %d, the state is of height %d, the application of "+
			"height %d", blocks.Base(), height, s.LastBlockHeight, own))
	case s.LastBlockHeight > 0:
		if err := d.CheckValidators(c); err != nil {
			return height, disagree(c, err)
		}
	}
	return height, nil
}
