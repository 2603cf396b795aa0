package node

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"

	dbm "github.com/cometbft/cometbft-db"
	"github.com/cometbft/cometbft/config"
	"github.com/syndtr/goleveldb/leveldb/opt"

	"github.com/spdl/spdl/app"
)

// levelDB sets the memory use of each of a node's five LevelDBs. By default each takes a write
// buffer of 4 MiB, a second one that is being flushed, a spare one, and up to 8 MiB for its block
// cache: a node that stores 100 kB a round and reads what it has just written needs neither. The
// smaller tables are merged four times as many at a time, so that no more is written. Compression
// is off, because gradients and models are mostly noise: compressing them, and again at each merge,
// would cost more than it saves.
var levelDB = opt.Options{
	WriteBuffer:            1 * opt.MiB,
	BlockCacheCapacity:     1 * opt.MiB,
	CompactionL0Trigger:    4 * opt.DefaultCompactionL0Trigger,
	WriteL0SlowdownTrigger: 4 * opt.DefaultWriteL0SlowdownTrigger,
	WriteL0PauseTrigger:    4 * opt.DefaultWriteL0PauseTrigger,
	Compression:            opt.NoCompression,
}

// levelDBOf returns the options of a LevelDB for a chain whose rounds have this number of bytes. A
// batch that is larger than the write buffer becomes a table for each buffer that it fills: with
// rounds of megabytes the buffer grows, up to LevelDB's default of 4 MiB, and fewer tables are
// merged.
func levelDBOf(round int64) *opt.Options {
	o := levelDB
	if round > int64(o.WriteBuffer) {
		o.WriteBuffer = int(min(max(round/2, 1*opt.MiB), 4*opt.MiB))
	}
	return &o
}

// roundBytes returns the max bytes of a round by the genesis of a home, 0 if that cannot be read.
func roundBytes(c *config.Config) int64 {
	g, err := genesisOf(c)
	if err != nil {
		return 0
	}
	return g.Params.RoundBytes(len(g.Participants))
}

// openDB opens a database of a home.
func openDB(c *config.Config, name string) (dbm.DB, error) {
	if backend := dbm.BackendType(c.DBBackend); backend != dbm.GoLevelDBBackend {
		return dbm.NewDB(name, backend, c.DBDir())
	}
	return dbm.NewGoLevelDBWithOpts(name, c.DBDir(), levelDBOf(roundBytes(c)))
}

// openOwn opens the application's database.
func openOwn(c *config.Config) (dbm.DB, error) {
	db, err := openDB(c, "application")
	switch {
	case err == nil:
		return db, nil
	case locked(err):
		return nil, fmt.Errorf("application database in %s (a node that runs holds its databases: stop it first): %w", c.DBDir(), err)
	}
	return nil, fmt.Errorf("application database in %s: %w", c.DBDir(), err)
}

// locked reports whether a database did not open because another process has it.
// The backends have only the system's text in common.
func locked(err error) bool {
	return strings.Contains(strings.ToLower(err.Error()), syscall.EAGAIN.Error())
}

// checkStopped rejects a home whose node runs. A database that fails to open for another reason is
// no sign of a running node, and a node with its databases in memory cannot be detected.
func checkStopped(c *config.Config) error {
	db, err := openOwn(c)
	switch {
	case err == nil:
		return db.Close()
	case locked(err):
		return errors.New("a node runs in this home: stop it first")
	}
	return nil
}

// databases opens the databases of CometBFT. v0.40.0 closes its block store while gossip goroutines
// may still read from it, and panics if a read fails: a node could not stop in a living process. It
// never closes its transaction index: the node could not start again in that process.
type databases struct {
	mu     sync.Mutex
	opened []*database
	state  func() *app.State // the application's
	drops  bool              // whether blocks are dropped
}

// provide is a config.DBProvider.
func (d *databases) provide(ctx *config.DBContext) (dbm.DB, error) {
	db, err := d.open(ctx)
	switch {
	case err != nil:
		return nil, err
	case ctx.ID == "evidence":
		return &convictions{DB: db, state: d.state}, nil
	case ctx.ID == "tx_index" && !d.drops:
		return &results{DB: db, blocks: func() dbm.DB { return d.last("blockstore") }}, nil
	}
	return db, nil
}

// open returns the database of an id, which it opens unless it is open: it cannot be opened twice.
func (d *databases) open(ctx *config.DBContext) (dbm.DB, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, db := range d.opened {
		if db.id == ctx.ID && !db.closed.Load() {
			return db, nil
		}
	}
	db, err := openDB(ctx.Config, ctx.ID)
	if err != nil {
		return nil, err
	}
	wrapped := &database{DB: db, id: ctx.ID}
	d.opened = append(d.opened, wrapped)
	return wrapped, nil
}

// last returns the database of an id that was opened last, even if it is closed by now; an empty
// one if none was opened.
func (d *databases) last(id string) dbm.DB {
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
func (d *databases) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var errs []error
	for _, db := range d.opened {
		errs = append(errs, db.Close())
	}
	return errors.Join(errs...)
}

// database reads as empty once it is closed, rather than returning an error.
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

// Get returns the value of a key, nil from a closed database.
func (d *database) Get(key []byte) ([]byte, error) {
	value, err := d.DB.Get(key)
	if err != nil && d.closed.Load() {
		return nil, nil
	}
	return value, err
}

// Has reports whether a key is set, false for a closed database.
func (d *database) Has(key []byte) (bool, error) {
	found, err := d.DB.Has(key)
	if err != nil && d.closed.Load() {
		return false, nil
	}
	return found, err
}
