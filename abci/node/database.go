package node

import (
	"errors"
	"sync"
	"sync/atomic"

	dbm "github.com/cometbft/cometbft-db"
	"github.com/cometbft/cometbft/config"
)

// databases opens what CometBFT stores in. v0.40.0 closes its block store while
// gossip goroutines may still read once more, and a read that fails is a panic
// there: a node could not stop in a living process. And it never closes its
// index: the node could not start again in that process.
type databases struct {
	mu     sync.Mutex
	opened []*database
}

// provide is a config.DBProvider.
func (d *databases) provide(ctx *config.DBContext) (dbm.DB, error) {
	db, err := config.DefaultDBProvider(ctx)
	if err != nil {
		return nil, err
	}
	wrapped := &database{DB: db}
	d.mu.Lock()
	defer d.mu.Unlock()
	d.opened = append(d.opened, wrapped)
	return wrapped, nil
}

// Close closes those that CometBFT has not.
func (d *databases) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	var errs []error
	for _, db := range d.opened {
		errs = append(errs, db.Close())
	}
	return errors.Join(errs...)
}

// database has nothing in it once it is closed, rather than an error.
type database struct {
	dbm.DB
	closed atomic.Bool
}

// Close closes the database once.
func (d *database) Close() error {
	if d.closed.Swap(true) {
		return nil
	}
	return d.DB.Close()
}

// Get reads a key; of a closed database nil.
func (d *database) Get(key []byte) ([]byte, error) {
	value, err := d.DB.Get(key)
	if err != nil && d.closed.Load() {
		return nil, nil
	}
	return value, err
}

// Has looks for a key; in a closed database there is none.
func (d *database) Has(key []byte) (bool, error) {
	found, err := d.DB.Has(key)
	if err != nil && d.closed.Load() {
		return false, nil
	}
	return found, err
}
