package abci

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"maps"
	"slices"
	"sync"

	abcitypes "github.com/cometbft/cometbft/abci/types"

	"github.com/spdl/spdl/abci/store"
	"github.com/spdl/spdl/app"
)

// A snapshot is the state document of a height, in chunks. The history is in
// it by its Merkle frontier: a node that joins by state sync executes and
// proves as the others do, and has the records of older rounds from peers only.
const (
	snapshotFormat = 1
	chunkBytes     = 8 << 20 // below the 16 MB of CometBFT's state sync
	// maxChunks bounds what an offered snapshot may make a node allocate: the
	// largest model, twice for the velocity, and room for participants.
	maxChunks = 2*8*(1<<21)/chunkBytes + 8
)

// restoring is a snapshot on its way in.
type restoring struct {
	height  uint64
	hash    []byte
	appHash []byte
	chunks  [][]byte
	have    int
}

// ListSnapshots offers what the store keeps.
func (a *Application) ListSnapshots(context.Context, *abcitypes.RequestListSnapshots) (*abcitypes.ResponseListSnapshots, error) {
	heights, err := a.store.Snapshots()
	if err != nil {
		return nil, err
	}
	r := &abcitypes.ResponseListSnapshots{}
	for _, h := range heights {
		if s := a.offers.of(a.store, h); s != nil {
			r.Snapshots = append(r.Snapshots, s)
		}
	}
	a.offers.keep(heights)
	return r, nil
}

// offers remembers what the kept snapshots are: any peer may ask for it as often
// as it likes, and a document may have tens of megabytes to read and hash.
type offers struct {
	mu   sync.Mutex
	held map[uint64]*abcitypes.Snapshot
}

// of is a height's snapshot, nil where none is kept.
func (o *offers) of(kept *store.Store, height uint64) *abcitypes.Snapshot {
	o.mu.Lock()
	defer o.mu.Unlock()
	if s := o.held[height]; s != nil {
		return s
	}
	document, err := kept.Snapshot(height)
	if err != nil || document == nil {
		return nil // pruned since
	}
	hash := sha256.Sum256(document)
	s := &abcitypes.Snapshot{Height: height, Format: snapshotFormat, Chunks: uint32((len(document) + chunkBytes - 1) / chunkBytes), Hash: hash[:]}
	if o.held == nil {
		o.held = map[uint64]*abcitypes.Snapshot{}
	}
	o.held[height] = s
	return s
}

// keep forgets all but the heights.
func (o *offers) keep(heights []uint64) {
	o.mu.Lock()
	defer o.mu.Unlock()
	maps.DeleteFunc(o.held, func(h uint64, _ *abcitypes.Snapshot) bool { return !slices.Contains(heights, h) })
}

// LoadSnapshotChunk reads one chunk, empty where there is none.
func (a *Application) LoadSnapshotChunk(_ context.Context, req *abcitypes.RequestLoadSnapshotChunk) (*abcitypes.ResponseLoadSnapshotChunk, error) {
	r := &abcitypes.ResponseLoadSnapshotChunk{}
	if s := a.offers.of(a.store, req.Height); req.Format != snapshotFormat || s == nil || req.Chunk >= s.Chunks {
		return r, nil
	}
	document, err := a.store.Snapshot(req.Height)
	if err != nil {
		return nil, err
	}
	if from := int(req.Chunk) * chunkBytes; from < len(document) {
		r.Chunk = document[from:min(from+chunkBytes, len(document))]
	}
	return r, nil
}

// OfferSnapshot takes a snapshot of our format and of a size that a state can
// have. The hash to reach is the light client's.
func (a *Application) OfferSnapshot(_ context.Context, req *abcitypes.RequestOfferSnapshot) (*abcitypes.ResponseOfferSnapshot, error) {
	s := req.Snapshot
	switch {
	case s == nil || s.Chunks == 0 || s.Chunks > maxChunks || len(s.Hash) != sha256.Size:
		return &abcitypes.ResponseOfferSnapshot{Result: abcitypes.ResponseOfferSnapshot_REJECT}, nil
	case s.Format != snapshotFormat:
		return &abcitypes.ResponseOfferSnapshot{Result: abcitypes.ResponseOfferSnapshot_REJECT_FORMAT}, nil
	}
	a.restoring = &restoring{height: s.Height, hash: s.Hash, appHash: req.AppHash, chunks: make([][]byte, s.Chunks)}
	return &abcitypes.ResponseOfferSnapshot{Result: abcitypes.ResponseOfferSnapshot_ACCEPT}, nil
}

// ApplySnapshotChunk collects the chunks; with the last one the state is
// checked against the trusted hash, stored and published.
func (a *Application) ApplySnapshotChunk(_ context.Context, req *abcitypes.RequestApplySnapshotChunk) (*abcitypes.ResponseApplySnapshotChunk, error) {
	r := a.restoring
	switch {
	case r == nil:
		return &abcitypes.ResponseApplySnapshotChunk{Result: abcitypes.ResponseApplySnapshotChunk_ABORT}, nil
	case int(req.Index) >= len(r.chunks) || len(req.Chunk) == 0 || len(req.Chunk) > chunkBytes:
		return &abcitypes.ResponseApplySnapshotChunk{
			Result: abcitypes.ResponseApplySnapshotChunk_RETRY, RefetchChunks: []uint32{req.Index}, RejectSenders: []string{req.Sender},
		}, nil
	}
	if r.chunks[req.Index] == nil {
		r.have++
	}
	r.chunks[req.Index] = req.Chunk
	if r.have == len(r.chunks) {
		a.restoring = nil
		if err := a.restore(r); err != nil {
			a.log.Error("snapshot rejected", "height", r.height, "err", err)
			return &abcitypes.ResponseApplySnapshotChunk{Result: abcitypes.ResponseApplySnapshotChunk_REJECT_SNAPSHOT}, nil
		}
	}
	return &abcitypes.ResponseApplySnapshotChunk{Result: abcitypes.ResponseApplySnapshotChunk_ACCEPT}, nil
}

// restore takes a panic for a fault of the snapshot: any peer may offer one.
func (a *Application) restore(r *restoring) (err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	document := bytes.Join(r.chunks, nil)
	if hash := sha256.Sum256(document); !bytes.Equal(hash[:], r.hash) {
		return fmt.Errorf("document has hash %X, offered was %X", hash, r.hash)
	}
	s, err := app.DecodeState(r.height, document)
	if err != nil {
		return err
	}
	if hash := s.Hash(); !bytes.Equal(hash[:], r.appHash) {
		return fmt.Errorf("state has hash %X, trusted is %X", hash, r.appHash)
	}
	if err := a.store.Save(&app.Outcome{State: s}, true); err != nil {
		return err
	}
	a.publish(s)
	return nil
}
