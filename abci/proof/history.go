package proof

import (
	"cmp"
	"fmt"
	"strconv"
	"sync"

	"github.com/cometbft/cometbft/crypto/merkle"
	cmtcrypto "github.com/cometbft/cometbft/proto/tendermint/crypto"
	"golang.org/x/mod/sumdb/tlog"

	"github.com/spdl/spdl/app"
)

// History proves the records of closed rounds. A state holds only the frontier of the history's Merkle tree, which is
// not enough for a proof. History holds about two hashes for each round, and a proof needs O(log rounds) hashes. The
// zero value is an empty history. It is safe for concurrent use.
type History struct {
	mu     sync.Mutex
	last   *app.Record      // the last added record; nil if the history is empty
	places map[string]int64 // the index of each leaf, by its key
	hashes hashes
}

// hashes are the hashes of all complete subtrees, in the order of tlog.StoredHashIndex.
type hashes []tlog.Hash

// ReadHashes implements tlog.HashReader.
func (h hashes) ReadHashes(indexes []int64) ([]tlog.Hash, error) {
	out := make([]tlog.Hash, len(indexes))
	for i, x := range indexes {
		out[i] = h[x]
	}
	return out, nil
}

// Grow adds new records until the history has size records. It reads them through the function records, which calls
// each for the stored records, in the order in which their rounds closed. The first call is for the record that follows
// after, or for the first record if after is nil. The last call is the one that returns false.
func (h *History) Grow(size uint64, records func(after *app.Record, each func(*app.Record) bool) error) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if uint64(len(h.places)) >= size {
		return nil
	}
	if h.places == nil {
		h.places = map[string]int64{}
	}
	var failed error
	err := records(h.last, func(r *app.Record) bool {
		leaf, place := r.Pair(), int64(len(h.places))
		var added []tlog.Hash
		if added, failed = tlog.StoredHashes(place, leaf.Leaf(), h.hashes); failed != nil {
			return false
		}
		h.hashes, h.places[leaf.Key], h.last = append(h.hashes, added...), place, r
		return uint64(len(h.places)) < size
	})
	return cmp.Or(err, failed)
}

// Round proves the record of a round that is closed in a state. It fails with ErrNoValue if the
// history does not have all records of that state.
func (h *History) Round(s *app.State, r *app.Record) (Proven, error) {
	pair := r.Pair()
	h.mu.Lock()
	place, found := h.places[pair.Key]
	known, stored := uint64(len(h.places)), h.hashes
	h.mu.Unlock()
	size := s.Closed()
	if known < size || !found || uint64(place) >= size {
		return Proven{}, fmt.Errorf("%w: this node has %d of %d records: it joined by state sync and proves no rounds, "+
			"ask another", ErrNoValue, known, size)
	}
	path, err := tlog.ProveRecord(int64(size), place, stored)
	if err != nil {
		return Proven{}, err
	}
	leaf := tlog.RecordHash(pair.Leaf())
	p := merkle.Proof{Total: int64(size), Index: place, LeafHash: leaf[:]}
	for i := range path {
		p.Aunts = append(p.Aunts, path[i][:])
	}
	proven, err := extend(s, "history", Proven{Value: pair.Value,
		Ops: operators(merkle.NewValueOp([]byte(pair.Key), &p).ProofOp())})
	if err != nil {
		return proven, err
	}
	hash := s.Hash()
	return proven, proven.Verify("round/"+pair.Key, hash[:])
}

// Model returns a proof of the parameters after a round. It extends the given proof of the round's record.
func Model(parameters []byte, record Proven) Proven {
	ops := []cmtcrypto.ProofOp{wholeOperator{OpChunks}.ProofOp(), recordOp{record.Value}.ProofOp()}
	return Proven{Value: parameters, Ops: operators(append(ops, record.Ops.Ops...)...)}
}

// Chunk returns a proof of chunk i of the parameters after a round. It extends the given proof of the round's record.
func Chunk(parameters []byte, i uint64, record Proven) (Proven, error) {
	chunks := app.Chunks(parameters)
	if i >= uint64(len(chunks)) {
		return Proven{}, fmt.Errorf("%w: chunk %d, the model has %d", ErrNoValue, i, len(chunks))
	}
	p, err := proveLeaf(app.Indexed(chunks), strconv.FormatUint(i, 10))
	if err == nil {
		p.Ops.Ops = append(append(p.Ops.Ops, recordOp{record.Value}.ProofOp()), record.Ops.Ops...)
	}
	return p, err
}
