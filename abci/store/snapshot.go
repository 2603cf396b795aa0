package store

import (
	"encoding/binary"

	"github.com/spdl/spdl/app"
)

// keptSnapshots is how many snapshots are kept.
const keptSnapshots = 2

func snapshotKey(height uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte{prefixSnap}, height)
}

// TakeSnapshot keeps the state's document and drops the oldest.
func (s *Store) TakeSnapshot(state *app.State) error {
	if err := s.db.Set(snapshotKey(state.Height), state.Encode()); err != nil {
		return err
	}
	heights, err := s.Snapshots()
	if err != nil {
		return err
	}
	for len(heights) > keptSnapshots {
		if err := s.db.Delete(snapshotKey(heights[0])); err != nil {
			return err
		}
		heights = heights[1:]
	}
	return nil
}

// Snapshots lists the heights of the kept snapshots, in increasing order.
func (s *Store) Snapshots() ([]uint64, error) {
	it, err := s.db.Iterator([]byte{prefixSnap}, []byte{prefixSnap + 1})
	if err != nil {
		return nil, err
	}
	defer it.Close()
	var heights []uint64
	for ; it.Valid(); it.Next() {
		if k := it.Key(); len(k) == 9 {
			heights = append(heights, binary.BigEndian.Uint64(k[1:]))
		}
	}
	return heights, it.Error()
}

// Snapshot loads the state document of a kept snapshot, or nil.
func (s *Store) Snapshot(height uint64) ([]byte, error) { return s.db.Get(snapshotKey(height)) }
