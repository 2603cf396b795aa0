package store

import (
	"crypto/sha256"
	"encoding/binary"
	"slices"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/gradients"
)

// ChunkBytes is the size of every chunk of a snapshot except the last. It is below the 16 MB that
// CometBFT's state sync allows.
const ChunkBytes = 8 << 20

// MaxChunks is the max number of chunks of a snapshot: enough for the largest model, its velocity
// and the participants. It bounds the memory that a node allocates for an offered snapshot.
const MaxChunks = 2*8*gradients.MaxDim/ChunkBytes + 8

// snapshotKey returns the key under which the hashes of the chunks are stored, for the snapshot at the given height.
func snapshotKey(height uint64) []byte {
	return binary.BigEndian.AppendUint64([]byte{prefixSnap}, height)
}

func chunkKey(height uint64, index uint32) []byte {
	return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint64([]byte{prefixChunk}, height), index)
}

// takeSnapshot stores the state's document in chunks, each under its own key, so that a chunk can be read alone.
func (s *Store) takeSnapshot(state *app.State) error {
	b := batch{s.db.NewBatch()}
	defer b.Close()
	var hashes []byte
	for chunk := range slices.Chunk(state.Encode(), ChunkBytes) {
		b.put(chunkKey(state.Height, uint32(len(hashes)/sha256.Size)), chunk)
		hash := sha256.Sum256(chunk)
		hashes = append(hashes, hash[:]...)
	}
	b.put(snapshotKey(state.Height), hashes)
	return b.Write()
}

// dropSnapshot deletes the snapshot at the given height.
func (s *Store) dropSnapshot(height uint64) error {
	hashes, err := s.Snapshot(height)
	if err != nil {
		return err
	}
	b := batch{s.db.NewBatch()}
	defer b.Close()
	b.drop(snapshotKey(height))
	for i := range len(hashes) / sha256.Size {
		b.drop(chunkKey(height, uint32(i)))
	}
	return b.Write()
}

// Snapshots lists the heights of the stored snapshots, in increasing order.
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

// Snapshot loads the concatenated SHA-256 hashes of the chunks of the snapshot at the given height.
// It returns nil if the store does not have that snapshot.
func (s *Store) Snapshot(height uint64) ([]byte, error) { return s.db.Get(snapshotKey(height)) }

// SnapshotChunk loads a chunk of a snapshot, nil if the store does not have the chunk.
func (s *Store) SnapshotChunk(height uint64, index uint32) ([]byte, error) {
	return s.db.Get(chunkKey(height, index))
}
