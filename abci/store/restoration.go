package store

import (
	"bytes"
	"crypto/sha256"
	"fmt"

	"github.com/spdl/spdl/app"
)

// Restoration collects the chunks of a snapshot that state sync is receiving.
type Restoration struct {
	Height uint64
	// Senders[i] is the sender of chunk i, "" while the chunk has not been received.
	Senders  []string
	Received int // the number of chunks that have been received

	appHash []byte // the trusted application hash
	hashes  []byte // the SHA-256 hashes of the chunks
	chunks  [][]byte
}

// NewRestoration begins to restore a snapshot with the given number of chunks. hashes are the
// SHA-256 hashes of the chunks, and appHash is the trusted application hash of the state.
func NewRestoration(height uint64, chunks uint32, hashes, appHash []byte) *Restoration {
	return &Restoration{Height: height, Senders: make([]string, chunks), appHash: appHash, hashes: hashes,
		chunks: make([][]byte, chunks)}
}

// Add adds a chunk from a sender. If the index is out of range, or the chunk does not have the
// expected hash, Add adds nothing and returns false.
func (r *Restoration) Add(index uint32, chunk []byte, sender string) bool {
	if int(index) >= len(r.chunks) {
		return false
	}
	hash := sha256.Sum256(chunk)
	if !bytes.Equal(hash[:], r.hashes[int(index)*sha256.Size:][:sha256.Size]) {
		return false
	}
	if r.chunks[index] == nil {
		r.Received++
	}
	r.chunks[index], r.Senders[index] = chunk, sender
	return true
}

// IsComplete reports whether all chunks have been received.
func (r *Restoration) IsComplete() bool { return r.Received == len(r.chunks) }

// State decodes the state of a complete snapshot, compares its hash with the trusted application hash, and releases the
// chunks. The caller must recover from a panic, which a hostile snapshot may cause in DecodeState.
func (r *Restoration) State() (*app.State, error) {
	document := bytes.Join(r.chunks, nil)
	r.chunks = nil // frees the second copy of the document
	s, err := app.DecodeState(r.Height, document)
	if err != nil {
		return nil, err
	}
	if hash := s.Hash(); !bytes.Equal(hash[:], r.appHash) {
		return nil, fmt.Errorf("state has hash %X, trusted is %X", hash, r.appHash)
	}
	return s, nil
}
