package databases

import (
	"bytes"
	"crypto/sha256"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	dbm "github.com/cometbft/cometbft-db"
	"github.com/cometbft/cometbft/config"
	cmtjson "github.com/cometbft/cometbft/libs/json"
	"github.com/cometbft/cometbft/libs/log"
	cmtnode "github.com/cometbft/cometbft/node"
	sm "github.com/cometbft/cometbft/state"
	"github.com/cometbft/cometbft/types"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/abci/store"
)

// ErrOtherGenesis means that the databases were created with another genesis.json.
var ErrOtherGenesis = errors.New("genesis.json is not the genesis of this home's data")

// CheckGenesis returns ErrOtherGenesis if genesis.json was replaced after the chain of the home has begun
// (home.StoredProgress). CometBFT would continue with the genesis of the first start, but this program's worker would
// use the new file. If the chain has not begun, CheckGenesis deletes what CometBFT has stored of the former genesis.
// The validator's last signature stays, because the validator may already have voted for a first block.
func (d *Set) CheckGenesis(c *config.Config, logger log.Logger) error {
	db, err := d.Provide(&config.DBContext{ID: "state", Config: c})
	if err != nil {
		return nil // NewNode opens the database again, and returns an error with the database's name
	}
	first, file, err := genesisIDs(db, c)
	if err != nil || first == file {
		return err
	}
	blocks, err := d.Provide(&config.DBContext{ID: "blockstore", Config: c})
	if err != nil {
		return err
	}
	begun, err := home.StoredProgress(db, blocks, d.Journal)
	if err != nil {
		return err
	}
	if begun == "" {
		logger.Info("genesis.json was replaced before the chain began: what was stored of the former one is deleted",
			"module", "app", "former", first.chain, "chain", file.chain)
		return errors.Join(deleteAll(db), home.RemoveWAL(c.Consensus.WalFile()))
	}
	return fmt.Errorf("%w: put the former file back, and nothing else. Only if this home leaves that chain for good, "+
		"spdl unsafe-reset-all --yes deletes the data and the record of what was signed", otherGenesis(c, first, file, begun))
}

// OtherGenesis returns ErrOtherGenesis if the genesis.json of a home was replaced after its chain
// has begun. The node must be stopped. OtherGenesis changes nothing.
func OtherGenesis(c *config.Config, a home.AppConfig) (err error) {
	if _, err := os.Stat(filepath.Join(c.DBDir(), "state.db")); errors.Is(err, os.ErrNotExist) {
		return nil
	}
	begun, err := home.StoredProgressIn(c, a)
	if err != nil || begun == "" {
		return err
	}
	db, err := home.OpenDB(c, "state")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	first, file, err := genesisIDs(db, c)
	if err != nil || first == file {
		return err
	}
	return otherGenesis(c, first, file, begun)
}

func otherGenesis(c *config.Config, first, file genesisID, begun string) error {
	return fmt.Errorf("%w: %s began with chain %s (%.8x), the file is of chain %s (%.8x), and %s", ErrOtherGenesis,
		c.DBDir(), first.chain, first.hash, file.chain, file.hash, begun)
}

// A genesisID identifies a genesis by its chain id and the SHA-256 of its JSON.
type genesisID struct {
	chain string
	hash  [sha256.Size]byte
}

func identify(doc *types.GenesisDoc) (genesisID, error) {
	data, err := cmtjson.Marshal(doc)
	return genesisID{doc.ChainID, sha256.Sum256(data)}, err
}

// genesisIDs returns two ids. The id first is that of the genesis that CometBFT has stored in its state database, and
// the id file is that of genesis.json. If CometBFT has stored no genesis, both ids are zero.
func genesisIDs(state dbm.DB, c *config.Config) (first, file genesisID, err error) {
	raw, err := state.Get([]byte(genesisKey))
	if err != nil || len(raw) == 0 {
		return first, file, err
	}
	var stored types.GenesisDoc
	if err := cmtjson.Unmarshal(raw, &stored); err != nil {
		return first, file, fmt.Errorf("genesis in the state database in %s: %w", c.DBDir(), err)
	}
	doc, err := home.ReadGenesis(c)
	if err != nil {
		return first, file, err
	}
	if first, err = identify(&stored); err != nil {
		return first, file, err
	}
	file, err = identify(doc)
	return first, file, err
}

// deleteAll deletes all entries of a database.
func deleteAll(db dbm.DB) error {
	all, err := db.Iterator(nil, nil)
	if err != nil {
		return err
	}
	batch := db.NewBatch()
	for ; all.Valid() && err == nil; all.Next() {
		err = batch.Delete(bytes.Clone(all.Key()))
	}
	if err = errors.Join(err, all.Error(), all.Close()); err == nil {
		err = batch.WriteSync()
	}
	return errors.Join(err, batch.Close())
}

// ErrDisagree means that the databases of a home are at different heights.
var ErrDisagree = errors.New("the databases of this home disagree")

// CheckValidators returns an error if the state database lacks the validators of the last height:
// CometBFT would panic at the next block. LevelDB can lose them when it drops damaged records.
func (d *Set) CheckValidators(c *config.Config) error {
	db, err := d.Provide(&config.DBContext{ID: "state", Config: c})
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

// disagree returns ErrDisagree with the given reason and a remedy.
func disagree(c *config.Config, what any) error {
	return fmt.Errorf("%w: %v; the databases in %s are damaged, or were put back one by one. Put back the whole folder "+
		"as it was while the node was stopped, if no block was signed since; or run spdl reset-state --yes, which keeps "+
		"what the validator and the worker have signed, and sync again", ErrDisagree, what, c.DBDir())
}

// Build returns the node that build makes. If build panics, the databases are at fault and not the program. Build then
// returns store.ErrDamage if a read of a database caused the panic, and ErrDisagree for any other panic. Build also
// returns ErrDisagree for CometBFT's errors about databases at different heights.
func Build(c *config.Config, build func() (*cmtnode.Node, error)) (n *cmtnode.Node, err error) {
	defer func() {
		r := recover()
		if damage, ok := r.(error); ok && errors.Is(damage, store.ErrDamage) {
			n, err = nil, damage
		} else if r != nil {
			n, err = nil, disagree(c, r)
		}
	}()
	n, err = build()
	if err != nil {
		n = nil
	}
	for _, text := range disagreements {
		if err != nil && strings.Contains(err.Error(), text) {
			return nil, disagree(c, err)
		}
	}
	return n, err
}
