package databases

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	dbm "github.com/cometbft/cometbft-db"
	"github.com/cometbft/cometbft/config"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/abci/store"
	"github.com/spdl/spdl/app"
)

// Set opens the databases for CometBFT, each once, and avoids two faults of CometBFT v0.40.0.
// CometBFT closes its block store while gossip goroutines may still read from it, and panics if a
// read fails, so a node could not stop without ending its process. And CometBFT never closes its
// transaction index, so a node could not start again in the same process.
type Set struct {
	State func() *app.State // returns the application's state, nil before the chain's first block
	Drops bool              // whether the node drops old blocks
	// Journal is the path of the journal of the home's participant.
	Journal string

	mu     sync.Mutex
	opened []*database
}

// Provide implements config.DBProvider.
func (d *Set) Provide(ctx *config.DBContext) (dbm.DB, error) {
	db, err := d.open(ctx)
	switch {
	case err != nil:
		return nil, err
	case ctx.ID == "evidence":
		return &evidenceDB{DB: db, state: d.State}, nil
	case ctx.ID == "tx_index" && !d.Drops:
		return &txIndexDB{DB: db, blocks: func() dbm.DB { return d.lastOpened("blockstore") }}, nil
	}
	return db, nil
}

// open returns the database with the id ctx.ID. It opens each database only once, because a
// database that is open cannot be opened again.
func (d *Set) open(ctx *config.DBContext) (dbm.DB, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, db := range d.opened {
		if db.id == ctx.ID && !db.closed.Load() {
			return db, nil
		}
	}
	db, err := home.OpenDB(ctx.Config, ctx.ID)
	if err != nil {
		return nil, err
	}
	wrapped := &database{DB: db, id: ctx.ID}
	d.opened = append(d.opened, wrapped)
	return wrapped, nil
}

// lastOpened returns the latest database that was opened with the given id, even if it has been
// closed since. If none was opened, it returns an empty database.
func (d *Set) lastOpened(id string) dbm.DB {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, db := range slices.Backward(d.opened) {
		if db.id == id {
			return db
		}
	}
	return dbm.NewMemDB()
}

// Close closes the databases that CometBFT has not closed.
func (d *Set) Close() (err error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, db := range d.opened {
		err = errors.Join(err, db.Close())
	}
	return err
}

// database is a database that returns no error for a read after Close: the read finds no value.
type database struct {
	dbm.DB
	id     string
	closed atomic.Bool
}

// Close closes the database once.
func (d *database) Close() error {
	if d.closed.Swap(true) {
		return nil
	}
	return d.DB.Close()
}

// Get returns the value of the given key, nil if the database is closed. It returns store.ErrDamage
// if LevelDB finds its files damaged.
func (d *database) Get(key []byte) ([]byte, error) {
	value, err := d.DB.Get(key)
	if err != nil && d.closed.Load() {
		return nil, nil
	}
	return value, store.DamageOf(d.id, err)
}

// Has reports whether a key has a value. If the database is closed, it returns false.
func (d *database) Has(key []byte) (bool, error) {
	found, err := d.DB.Has(key)
	if err != nil && d.closed.Load() {
		return false, nil
	}
	return found, err
}
