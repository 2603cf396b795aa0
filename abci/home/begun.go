package home

import (
	"errors"
	"fmt"

	dbm "github.com/cometbft/cometbft-db"
	"github.com/cometbft/cometbft/config"
	sm "github.com/cometbft/cometbft/state"

	"github.com/spdl/spdl/abci/store"
	"github.com/spdl/spdl/app/worker"
)

// StoredProgress tells whether the chain of a home has begun. It describes the last block in the databases or, if
// there is none, the journal. The result is "" if no block was decided and the participant has signed nothing.
func StoredProgress(state, blocks dbm.DB, journal string) (string, error) {
	s, err := sm.NewStore(state, sm.StoreOptions{}).Load()
	if err != nil {
		return "", err
	}
	stored, err := store.OpenBlocks(blocks)
	if err != nil {
		return "", err
	}
	if height := max(s.LastBlockHeight, stored.Height()); height > 0 {
		return fmt.Sprintf("the data have block %d", height), nil
	}
	info, err := worker.ReadJournalInfo(journal)
	if err != nil || info.Missing || info.New {
		return "", err
	}
	return fmt.Sprintf("the journal %s has entries for chain %q", journal, info.ChainID), nil
}

// StoredProgressIn returns StoredProgress for the home of a stopped node.
func StoredProgressIn(c *config.Config, a AppConfig) (begun string, err error) {
	var dbs []dbm.DB
	for _, name := range []string{"state", "blockstore"} {
		db, err := openStored(c, name)
		if err != nil && isLocked(err) {
			return "", fmt.Errorf("a node runs in the home %s: stop it first", c.RootDir)
		}
		if err != nil {
			return "", err
		}
		defer func() { err = errors.Join(err, db.Close()) }()
		dbs = append(dbs, db)
	}
	return StoredProgress(dbs[0], dbs[1], Journals(c, a))
}
