// Package store keeps the application's state in a cometbft-db database: the state document, the
// height, the record of every closed round, the models after the last rounds, and checkpoints. Save
// writes all data of a height in one synced batch, so after a crash the store has either the
// previous height or this one.
package store

import (
	"bytes"
	"encoding/binary"
	"fmt"

	dbm "github.com/cometbft/cometbft-db"

	"github.com/spdl/spdl/app"
)

// MaxModels is the number of the most recent rounds whose models are stored.
const MaxModels = 64

// DefaultCheckpointEvery is the default of Store.CheckpointEvery. After every 16th round the state
// is kept for good, as a checkpoint. From a checkpoint and the blocks after it a node can recompute
// the later models.
const DefaultCheckpointEvery = 16

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

// Store is the application's database. It is safe for concurrent use.
type Store struct {
	// CheckpointEvery makes the store keep a checkpoint after each round whose number plus 1 is a
	// multiple of CheckpointEvery; 0 means no checkpoints. It must be set before the first Save.
	CheckpointEvery uint64

	db dbm.DB
}

// New returns a store in a database; nil stands for a new database in memory.
func New(db dbm.DB) *Store {
	if db == nil {
		db = dbm.NewMemDB()
	}
	return &Store{CheckpointEvery: DefaultCheckpointEvery, db: db}
}

func key(prefix byte, epoch, round uint64) []byte {
	k := []byte{prefix}
	k = binary.BigEndian.AppendUint64(k, epoch)
	return binary.BigEndian.AppendUint64(k, round)
}

// State loads the last committed state, or nil before the first commit.
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

// batch is a batch of writes with this package's keys, which are never empty.
type batch struct{ dbm.Batch }

func (w batch) put(k, v []byte) {
	if err := w.Set(k, v); err != nil {
		panic(err) // only an empty key or a closed batch is an error
	}
}

func (w batch) drop(k []byte) {
	if err := w.Delete(k); err != nil {
		panic(err) // as in put, only an empty key or a closed batch is an error
	}
}

// Save stores the outcome of a height in one synced write. It writes the state's document only if
// out.Changed or withDocument is set.
func (s *Store) Save(out *app.Outcome, withDocument bool) error {
	b := batch{s.db.NewBatch()}
	defer b.Close()
	b.put([]byte{prefixHeight}, binary.BigEndian.AppendUint64(nil, out.State.Height))
	b.putState(out, withDocument || out.Changed)
	if r := out.Record; r != nil {
		record, err := r.Marshal()
		if err != nil {
			return err
		}
		b.put(key(prefixRecord, r.Epoch, r.Round), record)
		if s.CheckpointEvery > 0 && (r.Round+1)%s.CheckpointEvery == 0 {
			b.put(key(prefixCheckpoint, r.Epoch, r.Round), out.State.Encode())
		}
		if r.Round >= MaxModels {
			b.drop(key(prefixModel, r.Epoch, r.Round-MaxModels))
		}
	}
	b.dropModels(out.State)
	return b.WriteSync()
}

// putState writes the model of a closed round. If withDocument is set, it also writes the state's
// document. A model is written only once: the document leaves out the model of a closed round, and
// the entry under prefixModelOfState has the key of that model.
func (w batch) putState(out *app.Outcome, withDocument bool) {
	var beside []byte
	if r := out.Record; r != nil && (!endedEpoch(out.State) || hasModel(out.State, r.ModelHash)) {
		beside = key(prefixModel, r.Epoch, r.Round)
		w.put(beside, app.EncodeParameters(out.State.Model))
	}
	switch {
	case withDocument && beside != nil:
		w.put([]byte{prefixState}, out.State.EncodeRest())
		w.put([]byte{prefixModelOfState}, beside)
	case withDocument:
		w.put([]byte{prefixState}, out.State.Encode())
		w.drop([]byte{prefixModelOfState})
	}
}

// hasModel reports whether the state's model has the hash of the closed round's model. It is false
// if an epoch began with a new model.
func hasModel(s *app.State, hash []byte) bool {
	own := app.ModelHash(s.Model)
	return bytes.Equal(own[:], hash)
}

// endedEpoch reports whether the state's height ended an epoch.
func endedEpoch(s *app.State) bool {
	return len(s.Epochs) > 0 && s.Epochs[len(s.Epochs)-1].Closed == s.Height
}

// dropModels drops all models of an epoch that has just ended, except the last.
func (w batch) dropModels(s *app.State) {
	if !endedEpoch(s) {
		return
	}
	last := s.Epochs[len(s.Epochs)-1]
	if last.Rounds == 0 {
		return
	}
	for round := last.Rounds - min(last.Rounds, MaxModels); round < last.Rounds-1; round++ {
		w.drop(key(prefixModel, last.Epoch, round))
	}
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
	return s.db.Get(key(prefixModel, epoch, round))
}

// Close closes the database.
func (s *Store) Close() error { return s.db.Close() }
