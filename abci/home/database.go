package home

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	dbm "github.com/cometbft/cometbft-db"
	"github.com/cometbft/cometbft/config"
	cmtstate "github.com/cometbft/cometbft/proto/tendermint/state"
	"github.com/syndtr/goleveldb/leveldb/opt"
	"golang.org/x/sys/unix"

	"github.com/spdl/spdl/abci/store"
	"github.com/spdl/spdl/app"
)

// levelDB holds the options of each of a node's five LevelDBs.
//
//   - By default a LevelDB takes three write buffers of 4 MiB (in use, being flushed, and spare)
//     and up to 8 MiB of block cache. A node that stores 100 kB a round, and mostly reads recent
//     writes, needs no large buffers and no cache.
//   - With a smaller buffer the tables are smaller, so four times as many tables are merged at a
//     time. The number of written bytes then stays the same.
//   - Compression is off. Gradients and models are mostly noise, so compressing them at each merge
//     would cost more than it saves.
var levelDB = opt.Options{
	WriteBuffer:            1 * opt.MiB,
	BlockCacheCapacity:     1 * opt.MiB,
	CompactionL0Trigger:    4 * opt.DefaultCompactionL0Trigger,
	WriteL0SlowdownTrigger: 4 * opt.DefaultWriteL0SlowdownTrigger,
	WriteL0PauseTrigger:    4 * opt.DefaultWriteL0PauseTrigger,
	Compression:            opt.NoCompression,
}

// levelDBOf returns the options of a LevelDB for a chain. The argument round is the max number of bytes of a round.
// LevelDB splits a batch that is larger than the write buffer into several tables, one for each full buffer. For rounds
// of megabytes the buffer is therefore larger, up to LevelDB's default of 4 MiB, so that fewer tables are merged.
func levelDBOf(round int64) *opt.Options {
	o := levelDB
	if round > int64(o.WriteBuffer) {
		o.WriteBuffer = int(min(max(round/2, 1*opt.MiB), 4*opt.MiB))
	}
	return &o
}

// roundBytes returns the max bytes of a round on the chain of a home's genesis, 0 if the genesis cannot be read.
func roundBytes(c *config.Config) int64 {
	g, err := GenesisOf(c)
	if err != nil {
		return 0
	}
	return g.Params.RoundBytes(len(g.Participants))
}

// OpenDB opens a database of a home. It returns store.ErrDamage if LevelDB finds its files damaged.
func OpenDB(c *config.Config, name string) (dbm.DB, error) {
	if backend := dbm.BackendType(c.DBBackend); backend != dbm.GoLevelDBBackend {
		return dbm.NewDB(name, backend, c.DBDir())
	}
	db, err := dbm.NewGoLevelDBWithOpts(name, c.DBDir(), levelDBOf(roundBytes(c)))
	if err != nil {
		return nil, store.DamageOf(filepath.Join(c.DBDir(), name+".db"), err)
	}
	return db, nil
}

// openStored opens a database of a stopped node to read it, an empty one in memory if the home has none of that name.
func openStored(c *config.Config, name string) (dbm.DB, error) {
	if _, err := os.Stat(filepath.Join(c.DBDir(), name+".db")); errors.Is(err, os.ErrNotExist) {
		return dbm.NewMemDB(), nil
	}
	return OpenDB(c, name)
}

// IsDamaged reports whether an error says that a database is damaged.
func IsDamaged(err error) bool { return errors.Is(err, store.ErrDamage) }

// OpenApplicationDB opens the database of a home's application.
func OpenApplicationDB(c *config.Config) (dbm.DB, error) {
	db, err := OpenDB(c, "application")
	switch {
	case err == nil:
		return db, nil
	case isLocked(err):
		return nil, fmt.Errorf("application database in %s (a node that runs holds its databases: stop it first): %w",
			c.DBDir(), err)
	}
	return nil, fmt.Errorf("application database in %s: %w", c.DBDir(), err)
}

// State returns the committed application state in the databases of a stopped node.
func State(c *config.Config) (*app.State, error) {
	db, err := OpenApplicationDB(c)
	if err != nil {
		return nil, err
	}
	own := store.New(db)
	s, err := own.State()
	return s, errors.Join(store.DamageOf("application", err), own.Close())
}

// isLocked reports whether a database did not open because another process holds the database's lock. The backends have
// no common type for that error, so isLocked compares the operating system's error text.
func isLocked(err error) bool {
	return strings.Contains(strings.ToLower(err.Error()), syscall.EAGAIN.Error())
}

// checkStopped rejects a home whose node is running, because a running node locks its database. It
// ignores every other error of the database, and cannot detect a node whose databases are in memory.
func checkStopped(c *config.Config) error {
	db, err := OpenApplicationDB(c)
	switch {
	case err == nil:
		return db.Close()
	case isLocked(err):
		return errors.New("a node runs in this home: stop it first")
	}
	return nil
}

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

// FreeBytes returns the number of bytes that this process's user can still write to the disk that holds path.
func FreeBytes(path string) (uint64, error) {
	var s unix.Statfs_t
	err := unix.Statfs(path, &s)
	return s.Bavail * uint64(s.Bsize), err
}
