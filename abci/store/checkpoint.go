package store

import (
	"encoding/binary"
	"fmt"

	"github.com/spdl/spdl/app"
)

// Checkpoint is the stored state after a round. The store never drops a checkpoint.
type Checkpoint struct {
	Epoch, Round uint64
	Document     []byte // the state after the block that closed the round, encoded by app.State.Encode
}

// LatestCheckpoint loads the last checkpoint at or before the given round, or nil if there is none. The checkpoint may
// belong to an earlier epoch, because a replay of the later blocks also leads from there to the round.
func (s *Store) LatestCheckpoint(epoch, round uint64) (*Checkpoint, error) {
	it, err := s.db.ReverseIterator([]byte{prefixCheckpoint}, append(key(prefixCheckpoint, epoch, round), 0))
	if err != nil {
		return nil, err
	}
	defer it.Close()
	for ; it.Valid(); it.Next() {
		if k := it.Key(); len(k) == 17 {
			return &Checkpoint{
				Epoch: binary.BigEndian.Uint64(k[1:]), Round: binary.BigEndian.Uint64(k[9:]),
				Document: append([]byte(nil), it.Value()...),
			}, nil
		}
	}
	return nil, it.Error()
}

// Records calls visit for the stored records, in the order of epochs and rounds. It begins after
// the given record, or with the first record if after is nil. It stops when visit returns false.
func (s *Store) Records(after *app.Record, visit func(*app.Record) bool) error {
	from := []byte{prefixRecord}
	if after != nil {
		from = append(key(prefixRecord, after.Epoch, after.Round), 0)
	}
	it, err := s.db.Iterator(from, []byte{prefixRecord + 1})
	if err != nil {
		return err
	}
	defer it.Close()
	for ; it.Valid(); it.Next() {
		r := new(app.Record)
		if err := r.Unmarshal(it.Value()); err != nil {
			return fmt.Errorf("stored record %X: %w", it.Key(), err)
		}
		if !visit(r) {
			return nil
		}
	}
	return it.Error()
}
