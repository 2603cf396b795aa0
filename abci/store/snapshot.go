package store

import (
	"encoding/binary"

	"github.com/spdl/spdl/app"
)

func snapshotKey(height uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte{prefixSnap}, height)
}

// TakeSnapshot keeps the state's document.
func (s *Store) TakeSnapshot(state *app.State) error {
	return s.db.Set(snapshotKey(state.Height), state.Encode())
}

// DropSnapshot forgets a height's snapshot.
func (s *Store) DropSnapshot(height uint64) error { return s.db.Delete(snapshotKey(height)) }

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
