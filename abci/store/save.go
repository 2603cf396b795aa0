package store

import (
	"bytes"
	"encoding/binary"

	dbm "github.com/cometbft/cometbft-db"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
)

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

// maxDeferred is the max number of heights for which the state is deferred, and so the max number
// of blocks that a node executes again after a crash.
const maxDeferred = 64

// Save stores the outcome of a height in one synced write. It writes the state's document only if
// out.Changed or withDocument is set.
//
// Save defers a state of more than DeferAbove bytes, because writing it at every height would take a third of a node's
// CPU. It writes such a state with each checkpoint, at the end of an epoch and of the training, before an upgrade, and
// after at most maxDeferred heights; Flush writes it, too. After a crash CometBFT replays the blocks since the last
// write. The record of a round is never deferred, and the models of the last rounds are in memory.
func (s *Store) Save(out *app.Outcome, withDocument bool) error {
	x, r := out.State, out.Record
	if r == nil && endedEpoch(x) { // a stalled round: the last model of the ended epoch is in no later state
		if err := s.Flush(); err != nil {
			return err
		}
	}
	b := batch{s.db.NewBatch()}
	defer b.Close()
	if r != nil {
		record, err := r.Marshal()
		if err != nil {
			return err
		}
		b.put(key(prefixRecord, r.Epoch, r.Round), record)
	}
	isDeferred := !withDocument && s.defers(out)
	if !isDeferred {
		s.putOutcome(b, out, withDocument || out.Changed || s.deferred != nil)
	}
	if !isDeferred || r != nil { // synced: LevelDB may lose an unsynced record and keep a later state
		if err := b.WriteSync(); err != nil {
			return err
		}
	}
	s.remember(out)
	if isDeferred {
		s.deferred = &app.Outcome{State: x, Record: r}
		return nil
	}
	s.written, s.deferred = x.Height, nil
	return nil
}

// remember keeps the model of a closed round in memory if the state is large.
func (s *Store) remember(out *app.Outcome) {
	switch r := out.Record; {
	case endedEpoch(out.State):
		s.recent.drop()
	case r != nil && s.isLarge(out.State):
		s.recent.add(params.RoundID{Epoch: r.Epoch, Round: r.Round}, out.State.Model)
	}
}

// Flush writes a deferred state. The caller must call it before it closes the database.
func (s *Store) Flush() error {
	if s.deferred == nil {
		return nil
	}
	return s.Save(s.deferred, true)
}

// defers reports whether Save defers the state of an outcome.
func (s *Store) defers(out *app.Outcome) bool {
	x := out.State
	switch {
	case !s.isLarge(x), !out.Changed && s.deferred == nil: // a height is written cheaply
	case x.Height >= s.written+maxDeferred, s.isCheckpoint(out.Record):
	case x.Finished(), endedEpoch(x), x.Executable() != nil:
	default:
		return true
	}
	return false
}

// isLarge reports whether model and velocity have more than DeferAbove bytes.
func (s *Store) isLarge(x *app.State) bool { return 8*(len(x.Model)+len(x.Velocity)) > s.DeferAbove }

// KeptModels returns the number of the most recent rounds of the running epoch whose models the store
// keeps while the node runs.
func (s *Store) KeptModels(x *app.State) int {
	if s.isLarge(x) {
		return numRecent(len(x.Model))
	}
	return maxModels
}

// isCheckpoint reports whether the state after a closed round is a checkpoint. r may be nil.
func (s *Store) isCheckpoint(r *app.Record) bool {
	return r != nil && s.CheckpointEvery > 0 && (r.Round+1)%s.CheckpointEvery == 0
}

// putOutcome writes the height of an outcome. If withDocument is set, it also writes the state, and
// drops the models that the node no longer keeps: of a large state all models before the current one,
// otherwise the model of maxModels rounds ago.
func (s *Store) putOutcome(b batch, out *app.Outcome, withDocument bool) {
	x, r := out.State, out.Record
	b.put([]byte{prefixHeight}, binary.BigEndian.AppendUint64(nil, x.Height))
	if !withDocument {
		return
	}
	b.putState(x, s.modelKey(out))
	if s.isCheckpoint(r) {
		b.put(key(prefixCheckpoint, r.Epoch, r.Round), x.Encode())
	}
	switch {
	case endedEpoch(x):
		if last := x.Epochs[len(x.Epochs)-1]; last.Rounds > 0 {
			b.dropModelsBefore(last.Epoch, last.Rounds-1)
		}
	case s.isLarge(x) && x.Progress.Round > 0:
		b.dropModelsBefore(x.Progress.Epoch, x.Progress.Round-1)
	case r != nil && r.Round >= maxModels:
		b.drop(key(prefixModel, r.Epoch, r.Round-maxModels))
	}
}

// dropModelsBefore drops all models before the round last. The oldest is less than 2 maxModels rounds
// older: a database that release 0.1 wrote has maxModels models when the first large state is deferred.
func (w batch) dropModelsBefore(epoch, last uint64) {
	for round := last - min(last, 2*maxModels); round < last; round++ {
		w.drop(key(prefixModel, epoch, round))
	}
}

// modelKey returns the key under which the outcome's model is written, or nil if the state's document
// includes the model. The document includes it in two cases: the epoch has no closed round yet, or the
// state is small and the block closed no round.
func (s *Store) modelKey(out *app.Outcome) []byte {
	x := out.State
	switch r := out.Record; {
	case r != nil && (!endedEpoch(x) || hasModel(x, r.ModelHash)):
		return key(prefixModel, r.Epoch, r.Round)
	case r == nil && s.isLarge(x) && x.Progress.Round > 0:
		return key(prefixModel, x.Progress.Epoch, x.Progress.Round-1)
	}
	return nil
}

// putState writes the state's document. A model that has a key is written under that key: the
// document leaves the model out, and the entry under prefixModelOfState has the key.
func (w batch) putState(s *app.State, model []byte) {
	if model == nil {
		w.put([]byte{prefixState}, s.Encode())
		w.drop([]byte{prefixModelOfState})
		return
	}
	w.put(model, app.EncodeParameters(s.Model))
	w.put([]byte{prefixState}, s.EncodeRest())
	w.put([]byte{prefixModelOfState}, model)
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
