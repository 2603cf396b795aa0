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
	// Senders are the senders of the received chunks, by chunk.
	Senders []string

	appHash     []byte // the trusted application hash
	hashes      []byte // the SHA-256 hashes of the chunks
	chunks      [][]byte
	numReceived int
}

// NewRestoration begins to restore a snapshot with the given number of chunks. hashes are the
// SHA-256 hashes of the chunks, and appHash is the trusted application hash of the state.
func NewRestoration(height uint64, chunks uint32, hashes, appHash []byte) *Restoration {
	return &Restoration{Height: height, Senders: make([]string, chunks), appHash: appHash, hashes: hashes,
		chunks: make([][]byte, chunks)}
}

// Add adds a chunk from a sender. It returns false, and adds nothing, if the chunk does not have its
// hash.
func (r *Restoration) Add(index uint32, chunk []byte, sender string) bool {
	if int(index) >= len(r.chunks) {
		return false
	}
	hash := sha256.Sum256(chunk)
	if !bytes.Equal(hash[:], r.hashes[int(index)*sha256.Size:][:sha256.Size]) {
		return false
	}
	if r.chunks[index] == nil {
		r.numReceived++
	}
	r.chunks[index], r.Senders[index] = chunk, sender
	return true
}

// IsComplete reports whether all chunks have been received.
func (r *Restoration) IsComplete() bool { return r.numReceived == len(r.chunks) }

// State decodes the state of a complete snapshot, and compares the state with the trusted hash. The
// chunks are released. DecodeState may panic on a hostile document.
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
