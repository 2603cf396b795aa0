// Package store keeps the application's state in a cometbft-db database: the state document, the
// height, the record of every closed round, the models after the last rounds, and checkpoints. Save
// writes what it keeps of a height in one synced batch, a large state not at each height. After a crash the store has
// the state of this height or of an earlier one, from which CometBFT replays the later blocks.
package store

import (
	"encoding/binary"
	"errors"
	"fmt"

	dbm "github.com/cometbft/cometbft-db"
	cmtstore "github.com/cometbft/cometbft/store"
	leveldb "github.com/syndtr/goleveldb/leveldb/errors"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
)

// maxModels is the number of the most recent rounds whose models are stored.
const maxModels = 64

// DefaultCheckpointEvery is the default of Store.CheckpointEvery. After every 16th round the state is kept for good, as
// a checkpoint. From a checkpoint and the blocks after it a node can recompute the later models.
const DefaultCheckpointEvery = 16

// DefaultDeferAbove is the default of Store.DeferAbove, 131,072 coordinates of 8 bytes.
const DefaultDeferAbove = 1 << 20

// The first byte of a key says which kind of entry the key has. Epochs, rounds and heights follow
// in big endian, so that the keys are ordered by epoch, round or height.
const (
	prefixState        = 's'
	prefixModelOfState = 'b' // the key of the model that the state's document leaves out
	prefixHeight       = 'h'
	prefixRecord       = 'r'
	prefixModel        = 'm'
	prefixSnap         = 'y' // the hashes of a snapshot's chunks
	prefixChunk        = 'z' // the chunks of a snapshot
	prefixCheckpoint   = 'k'
)

// Store is the application's database. It is safe for concurrent use, except that only one goroutine
// at a time may call State, Save and Flush.
type Store struct {
	// CheckpointEvery makes the store keep a checkpoint after each round whose number plus 1 is a
	// multiple of CheckpointEvery; 0 means no checkpoints. It must be set before the first Save.
	CheckpointEvery uint64
	// DeferAbove is the size in bytes of model and velocity above which Save defers the state. It must
	// be set before the first Save.
	DeferAbove int

	db       dbm.DB
	recent   recentModels // the models after the last rounds, if the state is large
	written  uint64       // the height of the state in the database
	deferred *app.Outcome // the latest outcome whose state is not in the database, nil if there is none
}

// New returns a store in a database; nil stands for a new database in memory.
func New(db dbm.DB) *Store {
	if db == nil {
		db = dbm.NewMemDB()
	}
	return &Store{CheckpointEvery: DefaultCheckpointEvery, DeferAbove: DefaultDeferAbove, db: db}
}

func key(prefix byte, epoch, round uint64) []byte {
	k := []byte{prefix}
	k = binary.BigEndian.AppendUint64(k, epoch)
	return binary.BigEndian.AppendUint64(k, round)
}

// State loads the last written state, or nil before the first commit.
func (s *Store) State() (*app.State, error) {
	height, err := s.db.Get([]byte{prefixHeight})
	if err != nil || height == nil {
		return nil, err
	}
	if len(height) != 8 {
		return nil, fmt.Errorf("stored height has %d bytes, want 8", len(height))
	}
	document, err := s.db.Get([]byte{prefixState})
	if err != nil {
		return nil, err
	}
	at := binary.BigEndian.Uint64(height)
	s.written = at
	beside, err := s.db.Get([]byte{prefixModelOfState})
	switch {
	case err != nil:
		return nil, err
	case beside == nil:
		return app.DecodeState(at, document)
	}
	data, err := s.db.Get(beside)
	if err != nil {
		return nil, err
	}
	model, err := app.DecodeParameters(data)
	if err != nil {
		return nil, fmt.Errorf("stored model %X: %w", beside, err)
	}
	return app.DecodeRest(at, document, model)
}

// Record loads the record of a closed round, nil if the store does not have the record.
func (s *Store) Record(epoch, round uint64) (*app.Record, error) {
	data, err := s.db.Get(key(prefixRecord, epoch, round))
	if err != nil || data == nil {
		return nil, err
	}
	r := new(app.Record)
	return r, r.Unmarshal(data)
}

// Model loads the encoded parameters after a closed round, or nil if the store has dropped them.
func (s *Store) Model(epoch, round uint64) ([]byte, error) {
	if model := s.recent.get(params.RoundID{Epoch: epoch, Round: round}); model != nil {
		return app.EncodeParameters(model), nil
	}
	return s.db.Get(key(prefixModel, epoch, round))
}

// Close closes the database.
func (s *Store) Close() error { return s.db.Close() }

// ErrDamage means that the files of a database are damaged.
var ErrDamage = errors.New("a database is damaged")

// Damage returns an ErrDamage with the given name of a database, the given reason and a remedy.
func Damage(name string, reason any) error {
	return fmt.Errorf("%w: %s: %v: look at the disk; then spdl reset-state --yes, which keeps what the validator and the "+
		"worker have signed, and start: the node syncs again from its peers", ErrDamage, name, reason)
}

// DamageOf returns an ErrDamage with the given name of a database if err is LevelDB's error about
// damaged files. It returns any other err unchanged.
func DamageOf(name string, err error) error {
	for e := err; e != nil; e = errors.Unwrap(e) {
		if leveldb.IsCorrupted(e) {
			return Damage(name, err)
		}
	}
	return err
}

// OpenBlocks opens CometBFT's block store in a database. CometBFT panics on bytes that it cannot
// read; OpenBlocks then returns ErrDamage.
func OpenBlocks(db dbm.DB) (s *cmtstore.BlockStore, err error) {
	defer func() {
		if r := recover(); r != nil {
			s, err = nil, Damage("blockstore", r)
		}
	}()
	return cmtstore.NewBlockStore(db), nil
}
