package reactor

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"sort"

	"github.com/cometbft/cometbft/crypto/tmhash"
	cmtcrypto "github.com/cometbft/cometbft/proto/tendermint/crypto"
	cmtproto "github.com/cometbft/cometbft/proto/tendermint/types"
	"github.com/cometbft/cometbft/types"

	"github.com/spdl/spdl/app/tx"
)

const (
	// maxCompact bounds the bytes of a compact block: enough for the hashes of about 5,000
	// transactions. If a compact block would be larger, the block is sent as parts.
	maxCompact = 256 << 10
	// maxReferred bounds the number of transactions that a compact block replaces by their hashes.
	maxReferred = 1 << 13
	// minReferred is the min size in bytes of a transaction that a compact block replaces by its
	// hash. Smaller transactions are copied into the compact block.
	minReferred = 128
	partBytes   = int(types.BlockPartSizeBytes)
)

var (
	errCompact = errors.New("malformed compact block")
	// errForged means that the parts of a compact block do not belong to its Merkle tree.
	errForged = errors.New("compact block does not match its Merkle tree")
)

// compactBlock is a CompactBlock whose form is checked. In the block, literals (bytes that the compact block holds
// itself) and referred transactions alternate. ends holds the offsets in the block at which they end.
type compactBlock struct {
	*CompactBlock
	header types.PartSetHeader
	proofs []cmtcrypto.Proof
	ends   []int
}

// readCompact checks the form of a compact block: the numbers of parts and transactions must be within their bounds,
// and the size of the block must fit the number of parts. The error wraps errCompact.
func readCompact(m *CompactBlock) (*compactBlock, error) {
	parts, txs := len(m.Leaves)/tmhash.Size, len(m.Hashes)/len(hash{})
	switch {
	case m.Height < 1:
		return nil, fmt.Errorf("%w: height %d, want at least 1", errCompact, m.Height)
	case len(m.Leaves)%tmhash.Size != 0 || parts < 1 || parts > int(types.MaxBlockPartsCount):
		return nil, fmt.Errorf("%w: leaves of %d bytes, want 1 to %d of %d", errCompact, len(m.Leaves),
			types.MaxBlockPartsCount, tmhash.Size)
	case len(m.Hashes)%len(hash{}) != 0 || txs > maxReferred:
		return nil, fmt.Errorf("%w: hashes of %d bytes, want at most %d of %d", errCompact, len(m.Hashes), maxReferred,
			len(hash{}))
	case len(m.Lengths) != txs || len(m.Literals) != txs+1:
		return nil, fmt.Errorf("%w: %d lengths and %d literals for %d transactions", errCompact, len(m.Lengths),
			len(m.Literals), txs)
	}
	b := &compactBlock{CompactBlock: m, ends: make([]int, 0, 2*txs+1)}
	end := 0
	for i, literal := range m.Literals {
		end += len(literal)
		b.ends = append(b.ends, end)
		if i < txs {
			end += int(m.Lengths[i])
			b.ends = append(b.ends, end)
		}
	}
	if (end+partBytes-1)/partBytes != parts {
		return nil, fmt.Errorf("%w: %d bytes in %d parts", errCompact, end, parts)
	}
	root, aunts := merkleTree(slices.Collect(slices.Chunk(m.Leaves, tmhash.Size)))
	b.header = types.PartSetHeader{Total: uint32(parts), Hash: root}
	for i := range parts {
		b.proofs = append(b.proofs, cmtcrypto.Proof{Total: int64(parts), Index: int64(i),
			LeafHash: m.Leaves[i*tmhash.Size:][:tmhash.Size], Aunts: aunts[i]})
	}
	return b, nil
}

// merkleTree returns the root of CometBFT's Merkle tree over leaves. aunts[i] has the sibling
// hashes on the path from leaf i to the root.
func merkleTree(leaves [][]byte) (root []byte, aunts [][][]byte) {
	if len(leaves) == 1 {
		return leaves[0], make([][][]byte, 1)
	}
	split := 1 << (bits.Len(uint(len(leaves)-1)) - 1)
	left, aunts := merkleTree(leaves[:split])
	right, others := merkleTree(leaves[split:])
	for i := range aunts {
		aunts[i] = append(aunts[i], right)
	}
	for i := range others {
		others[i] = append(others[i], left)
	}
	return tmhash.Sum(slices.Concat([]byte{1}, left, right)), append(aunts, others...)
}

// hash returns the hash of the i-th transaction that the compact block replaces by a hash.
func (b *compactBlock) hash(i int) hash { return hash(b.Hashes[i*len(hash{}):]) }

// hasPart reports whether a part belongs to the block.
func (b *compactBlock) hasPart(height int64, p *cmtproto.Part) bool {
	return b.Height == height && int64(b.header.Total) == p.Proof.Total && p.Index < b.header.Total &&
		bytes.Equal(b.proofs[p.Index].LeafHash, p.Proof.LeafHash)
}

// rebuildPart rebuilds a part from the transactions that this node has. If it fails, it returns nil with the hash of
// the first missing transaction, or with errForged. A part within one transaction shares the transaction's memory.
func (b *compactBlock) rebuildPart(index int, held func(hash) *tx.Tx) (*cmtproto.Part, hash, error) {
	from := index * partBytes
	to := min(from+partBytes, b.ends[len(b.ends)-1])
	var raw []byte
	for at, i := from, sort.SearchInts(b.ends, from+1); at < to; i++ {
		piece, begin := b.Literals[i/2], 0
		if i > 0 {
			begin = b.ends[i-1]
		}
		if i%2 == 1 {
			t := held(b.hash(i / 2))
			if t == nil {
				return nil, b.hash(i / 2), nil
			}
			if piece = t.Raw; len(piece) != b.ends[i]-begin {
				return nil, hash{}, fmt.Errorf("%w: transaction %X of %d bytes has %d", errForged, t.Hash[:8],
					b.ends[i]-begin, len(piece))
			}
		}
		piece = piece[at-begin : min(b.ends[i], to)-begin]
		if at += len(piece); raw == nil {
			raw = slices.Clip(piece)
		} else {
			raw = append(raw, piece...)
		}
	}
	proof := b.proofs[index]
	leaf := sha256.New()
	leaf.Write([]byte{0})
	leaf.Write(raw)
	if !bytes.Equal(leaf.Sum(nil), proof.LeafHash) {
		return nil, hash{}, fmt.Errorf("%w: part %d", errForged, index)
	}
	return &cmtproto.Part{Index: uint32(index), Bytes: raw, Proof: proof}, hash{}, nil
}

// blockBytes gives access to the bytes of a whole block by offset.
type blockBytes struct{ *types.PartSet }

// bytesBetween returns the bytes between two offsets, or to the end of the block.
func (b blockBytes) bytesBetween(start, end int) (raw []byte) {
	for at := start; at < min(end, int(b.ByteSize())); {
		part := b.GetPart(at / partBytes).Bytes
		begin := at / partBytes * partBytes
		piece := part[at-begin : min(len(part), end-begin)]
		raw, at = append(raw, piece...), at+len(piece)
	}
	return raw
}

// readField reads the tag and the length of the length-delimited field at the offset at. It returns
// the field's number, and the offsets at which the content begins and ends.
func (b blockBytes) readField(at, limit int) (number uint64, begin, end int, err error) {
	head := b.bytesBetween(at, min(at+2*binary.MaxVarintLen64, limit))
	tag, n := binary.Uvarint(head)
	length, m := binary.Uvarint(head[max(n, 0):])
	begin = at + n + m
	if n <= 0 || m <= 0 || tag&7 != 2 || length > uint64(limit-begin) {
		return 0, 0, 0, fmt.Errorf("%w: field at byte %d", errCompact, at)
	}
	return tag >> 3, begin, begin + int(length), nil
}

// compact makes a compact block from a whole block. The compact block has the hashes of all
// transactions of at least minReferred bytes, whether this node's pool has them or not. txs are the
// block's transactions, and hashOf returns the hash of a transaction.
func compact(height int64, parts *types.PartSet, txs types.Txs, hashOf func([]byte) hash) (*compactBlock, error) {
	m, b, done := &CompactBlock{Height: height}, blockBytes{parts}, 0
	for i := range int(parts.Total()) {
		m.Leaves = append(m.Leaves, parts.GetPart(i).Proof.LeafHash...)
	}
	size := int(parts.ByteSize())
	for at := 0; at < size; {
		number, begin, end, err := b.readField(at, size)
		if err != nil {
			return nil, err
		}
		at = end
		for number == 2 && begin < end { // the block's data, which consist of only its transactions
			_, first, last, err := b.readField(begin, end)
			if err != nil || len(txs) == 0 || len(txs[0]) != last-first {
				return nil, fmt.Errorf("%w: transaction at byte %d", errCompact, begin)
			}
			if last-first >= minReferred {
				h := hashOf(txs[0])
				m.Literals = append(m.Literals, b.bytesBetween(done, first))
				m.Hashes, m.Lengths = append(m.Hashes, h[:]...), append(m.Lengths, uint32(last-first))
				done = last
			}
			begin, txs = last, txs[1:]
		}
	}
	m.Literals = append(m.Literals, b.bytesBetween(done, size))
	if n := m.Size(); n > maxCompact {
		return nil, fmt.Errorf("%w: %d bytes, at most %d", errCompact, n, maxCompact)
	}
	return readCompact(m)
}
