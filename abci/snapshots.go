package abci

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"time"

	abcitypes "github.com/cometbft/cometbft/abci/types"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/abci/store"
	"github.com/spdl/spdl/app"
)

// A snapshot is the state document of a height, in chunks of store.ChunkBytes that are stored separately. The metadata
// are the concatenated SHA-256 hashes of the chunks, and the snapshot's hash is the SHA-256 of the metadata. So a node
// can tell which chunk is wrong. A snapshot holds the Merkle frontier of the history, not the history, so a node that
// joins by state sync can get the records of older rounds only from peers.
const snapshotFormat = 2

// RestoreTimes returns the times of the last accepted offer of a snapshot and of the last correct
// chunk, zero if there was none, and whether the application has a state.
func (a *Application) RestoreTimes() (offered, taken time.Time, hasState bool) {
	r := a.restored.Load()
	return r.Offered, r.Taken, a.state.Load() != nil
}

// ListSnapshots returns the snapshots in the store. An answer is cheap: the node hashes the hashes
// of the chunks, and reads no chunk.
func (a *Application) ListSnapshots(context.Context, *abcitypes.RequestListSnapshots) (*abcitypes.ResponseListSnapshots,
	error) {
	heights, err := a.store.Snapshots()
	if err != nil {
		return nil, err
	}
	r := &abcitypes.ResponseListSnapshots{}
	for _, h := range heights {
		hashes, err := a.store.Snapshot(h)
		if err != nil {
			a.log.Error("snapshot not offered to peers: it cannot be read", "height", h, "err", err)
			continue
		}
		if hashes == nil {
			continue // the snapshot has been dropped since the call of Snapshots
		}
		hash := sha256.Sum256(hashes)
		r.Snapshots = append(r.Snapshots, &abcitypes.Snapshot{
			Height: h, Format: snapshotFormat, Chunks: uint32(len(hashes) / sha256.Size), Hash: hash[:], Metadata: hashes,
		})
	}
	return r, nil
}

// LoadSnapshotChunk returns one chunk of a snapshot, empty if the node does not have the chunk.
func (a *Application) LoadSnapshotChunk(_ context.Context,
	req *abcitypes.RequestLoadSnapshotChunk) (*abcitypes.ResponseLoadSnapshotChunk, error) {
	r := &abcitypes.ResponseLoadSnapshotChunk{}
	if req.Format != snapshotFormat {
		return r, nil
	}
	var err error
	r.Chunk, err = a.store.SnapshotChunk(req.Height, req.Chunk)
	return r, err
}

// OfferSnapshot accepts a snapshot of this program's format with 1 to store.MaxChunks chunks, whose
// metadata match its hash. The method restore later compares the state with the application hash of
// the request, which the light client has verified.
func (a *Application) OfferSnapshot(_ context.Context,
	req *abcitypes.RequestOfferSnapshot) (*abcitypes.ResponseOfferSnapshot, error) {
	s, result := req.Snapshot, abcitypes.ResponseOfferSnapshot_REJECT
	hash := sha256.Sum256(s.GetMetadata())
	switch {
	case s == nil || s.Chunks == 0 || s.Chunks > store.MaxChunks:
	case s.Format != snapshotFormat:
		result = abcitypes.ResponseOfferSnapshot_REJECT_FORMAT
	case len(s.Metadata) == int(s.Chunks)*sha256.Size && bytes.Equal(hash[:], s.Hash):
		result = abcitypes.ResponseOfferSnapshot_ACCEPT
		a.restored.Store(&query.Restore{Offered: a.options.Now(), Taken: a.restored.Load().Taken, Height: s.Height,
			Chunks: int(s.Chunks)})
		a.restoration = store.NewRestoration(s.Height, s.Chunks, s.Metadata, req.AppHash)
	}
	a.log.Info("snapshot offered", "height", s.GetHeight(), "format", s.GetFormat(), "chunks", s.GetChunks(), "result",
		result.String())
	return &abcitypes.ResponseOfferSnapshot{Result: result}, nil
}

// ApplySnapshotChunk collects the chunks. After the last chunk it checks the state against the verified hash, stores it
// and publishes it. If a chunk is wrong, CometBFT fetches the chunk from another peer and bans the sender. If the
// snapshot cannot be restored, CometBFT bans the senders of all chunks. If only the state machine version is wrong, it
// bans nobody, because the senders may also have a snapshot of this program's version.
func (a *Application) ApplySnapshotChunk(_ context.Context,
	req *abcitypes.RequestApplySnapshotChunk) (*abcitypes.ResponseApplySnapshotChunk, error) {
	r := a.restoration
	switch {
	case r == nil:
		return &abcitypes.ResponseApplySnapshotChunk{Result: abcitypes.ResponseApplySnapshotChunk_ABORT}, nil
	case !r.Add(req.Index, req.Chunk, req.Sender):
		a.log.Error("wrong chunk of a snapshot, its sender is asked no more", "height", r.Height, "chunk", req.Index, "bytes",
			len(req.Chunk), "sender", req.Sender)
		return &abcitypes.ResponseApplySnapshotChunk{
			Result: abcitypes.ResponseApplySnapshotChunk_RETRY, RefetchChunks: []uint32{req.Index},
			RejectSenders: []string{req.Sender},
		}, nil
	}
	now := *a.restored.Load()
	now.Taken, now.Received = a.options.Now(), r.Received
	a.restored.Store(&now)
	a.log.Info("chunk of a snapshot received", "height", r.Height, "chunk", req.Index, "received", r.Received, "of",
		now.Chunks)
	if r.IsComplete() {
		a.restoration = nil
		if err := a.restore(r); err != nil {
			a.restored.Store(&query.Restore{Offered: now.Offered, Taken: now.Taken})
			a.log.Error("snapshot rejected", "height", r.Height, "err", err)
			reject := &abcitypes.ResponseApplySnapshotChunk{Result: abcitypes.ResponseApplySnapshotChunk_REJECT_SNAPSHOT}
			if !errors.Is(err, app.ErrVersion) {
				reject.RejectSenders = r.Senders
			}
			return reject, nil
		}
		a.log.Info("state restored from a snapshot", "height", r.Height)
	}
	return &abcitypes.ResponseApplySnapshotChunk{Result: abcitypes.ResponseApplySnapshotChunk_ACCEPT}, nil
}

// checkExecutable returns an error if the height after a received state needs another state machine
// version. Without this check the node would store such a state and then halt, and its home could
// no longer restore a snapshot of the node's version.
func (a *Application) checkExecutable(s *app.State) error {
	if a.options.StateMachine != app.Version {
		s = s.As(a.options.StateMachine)
	}
	if err := s.Executable(); err != nil {
		return err
	}
	if made := s.VersionAt(s.Height+1, a.options.GenesisVersion); made != a.options.StateMachine {
		return fmt.Errorf("%w: it is of version %d at height %d, this program executes version %d", app.ErrVersion, made,
			s.Height, a.options.StateMachine)
	}
	return nil
}

// restore checks, stores and publishes the received state. Any peer may offer a snapshot, so
// restore turns a panic into an error.
func (a *Application) restore(r *store.Restoration) (err error) {
	defer query.Catch(&err)
	s, err := r.State()
	if err != nil {
		return err
	}
	if s.ChainID != a.options.ChainID {
		return fmt.Errorf("state is of chain %q, the node's genesis of %q", s.ChainID, a.options.ChainID)
	}
	if err := a.checkExecutable(s); err != nil {
		return err
	}
	if err := a.store.Save(&app.Outcome{State: s}, true); err != nil {
		return err
	}
	a.publish(s, nil)
	return nil
}
