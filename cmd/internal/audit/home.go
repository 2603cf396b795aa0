package audit

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	dbm "github.com/cometbft/cometbft-db"
	"github.com/cometbft/cometbft/config"
	cmtproto "github.com/cometbft/cometbft/proto/tendermint/types"
	sm "github.com/cometbft/cometbft/state"
	cmtstore "github.com/cometbft/cometbft/store"
	"github.com/cometbft/cometbft/types"
	"github.com/syndtr/goleveldb/leveldb/opt"

	"github.com/spdl/spdl/abci/genesis"
	"github.com/spdl/spdl/abci/store"
	"github.com/spdl/spdl/app"
)

// Home is a Source that reads a stopped node's databases, and a Witness of what the node computed.
type Home struct {
	genesis *types.GenesisDoc
	opened  []dbm.DB
	blocks  *cmtstore.BlockStore
	states  sm.Store
	own     *store.Store
	next    int64
}

// ErrRuns means that a home's databases are held by its node, which runs.
var ErrRuns = errors.New("a node that runs holds its databases: stop it first")

var (
	_ Source  = (*Home)(nil)
	_ Witness = (*Home)(nil)
)

// OpenHome opens the databases of a home whose node is stopped.
func OpenHome(c *config.Config) (h *Home, err error) {
	h = new(Home)
	if h.genesis, err = genesis.ReadFile(c.GenesisFile()); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, h.Close())
			h = nil
		}
	}()
	open := func(name string) dbm.DB {
		if err != nil {
			return nil
		}
		if _, err = os.Stat(filepath.Join(c.DBDir(), name+".db")); err != nil { // NewDB would create it
			err = fmt.Errorf("%w (a node that was never started has no chain)", err)
			return nil
		}
		db, failed := openReadOnly(c, name)
		if damage := store.DamageOf(filepath.Join(c.DBDir(), name+".db"), failed); errors.Is(damage, store.ErrDamage) {
			err = damage
			return nil
		}
		if failed != nil {
			err = fmt.Errorf("%s (%w): %w", filepath.Join(c.DBDir(), name+".db"), ErrRuns, failed)
			return nil
		}
		h.opened = append(h.opened, db)
		return db
	}
	blocks, states, own := open("blockstore"), open("state"), open("application")
	if err != nil {
		return h, err
	}
	if h.blocks, err = store.OpenBlocks(blocks); err != nil {
		return h, err
	}
	h.states, h.own = sm.NewStore(states, sm.StoreOptions{}), store.New(own)
	h.next = h.genesis.InitialHeight
	if base := h.blocks.Base(); base > h.next {
		return h, fmt.Errorf("this node reaches back to height %d, to %d of which it has blocks; an audit needs all from "+
			"%d: it was state synced, or drops old blocks ([retain] in app.toml), take one that keeps all", base,
			h.blocks.Height(), h.next)
	}
	return h, nil
}

// openReadOnly opens a database so that nothing changes in its files, where the backend is LevelDB.
func openReadOnly(c *config.Config, name string) (dbm.DB, error) {
	if c.DBBackend != string(dbm.GoLevelDBBackend) {
		return dbm.NewDB(name, dbm.BackendType(c.DBBackend), c.DBDir())
	}
	return dbm.NewGoLevelDBWithOpts(name, c.DBDir(), &opt.Options{ReadOnly: true})
}

// Genesis returns the genesis of config/genesis.json.
func (h *Home) Genesis() *types.GenesisDoc { return h.genesis }

// Next loads a block.
func (h *Home) Next(context.Context) (b *cmtproto.Block, err error) {
	height := h.next
	if height > h.blocks.Height() {
		return nil, io.EOF
	}
	h.next++
	defer func() { // the block store panics on bytes that it cannot read
		if r := recover(); r != nil {
			b, err = nil, fmt.Errorf("%w: height %d: %v", ErrDamaged, height, r)
		}
	}()
	if b = h.blocks.LoadBlockProto(height); b == nil {
		return nil, fmt.Errorf("%w: height %d is not in the block store", ErrDamaged, height)
	}
	return b, nil
}

// Tip returns the commit that the node saw for its last block, and the application hash that CometBFT stores after it.
func (h *Home) Tip(context.Context) (tip Tip, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("what follows height %d: %v", h.blocks.Height(), r)
		}
	}()
	tip.Commit = h.blocks.LoadSeenCommit(h.blocks.Height())
	s, err := h.states.Load()
	if err != nil {
		return tip, err
	}
	if s.LastBlockHeight == h.blocks.Height() && s.LastBlockHeight > 0 {
		tip.AppHash = s.AppHash
	}
	return tip, nil
}

// Done returns the share of the heights that have been read.
func (h *Home) Done() float64 { return doneShare(h.genesis.InitialHeight, h.next, h.blocks.Height()) }

// Record returns the node's own record of a closed round.
func (h *Home) Record(_ context.Context, epoch, round uint64) (*app.Record, error) {
	return h.own.Record(epoch, round)
}

// State returns the node's own state after its last block.
func (h *Home) State(context.Context) (*app.State, error) {
	s, err := h.own.State()
	return s, store.DamageOf("application", err)
}

// Close closes the databases.
func (h *Home) Close() error {
	var errs []error
	for _, db := range h.opened {
		errs = append(errs, db.Close())
	}
	return errors.Join(errs...)
}
