package app

import (
	"crypto/sha256"
	"math/bits"
)

// The Merkle tree of RFC 6962, section 2.1, as CometBFT's crypto/merkle builds
// it (a test in abci holds the two against each other): leaves and inner nodes
// are told apart by a prefix, the left subtree is the largest full one.

func leafHash(data []byte) [32]byte {
	h := sha256.New()
	h.Write([]byte{0})
	h.Write(data)
	return [32]byte(h.Sum(nil))
}

func innerHash(left, right [32]byte) [32]byte {
	var b [65]byte
	b[0] = 1
	copy(b[1:], left[:])
	copy(b[33:], right[:])
	return sha256.Sum256(b[:])
}

// merkleRoot is the root over the leaves; of none, the SHA-256 of nothing.
func merkleRoot(leaves [][]byte) [32]byte {
	var f frontier
	for _, leaf := range leaves {
		f.push(leaf)
	}
	return f.root()
}

// frontier is an append-only Merkle tree by its peaks: the roots of the full
// subtrees that the set bits of size stand for, largest first. It is a value
// of O(log size) bytes, so a state can carry the whole history's root.
type frontier struct {
	size  uint64
	peaks [][32]byte
}

// push appends a leaf. Two equal peaks merge as a binary counter carries.
func (f *frontier) push(leaf []byte) {
	h := leafHash(leaf)
	merges := bits.TrailingZeros64(^f.size)
	kept := len(f.peaks) - merges
	for i := len(f.peaks) - 1; i >= kept; i-- {
		h = innerHash(f.peaks[i], h)
	}
	f.peaks = append(f.peaks[:kept:kept], h)
	f.size++
}

func (f *frontier) root() [32]byte {
	if f.size == 0 {
		return sha256.Sum256(nil)
	}
	h := f.peaks[len(f.peaks)-1]
	for i := len(f.peaks) - 2; i >= 0; i-- {
		h = innerHash(f.peaks[i], h)
	}
	return h
}

// splitPoint is the size of the left subtree: the largest power of two below
// total, which is at least 2.
func splitPoint(total uint64) uint64 { return 1 << (bits.Len64(total-1) - 1) }

func leafHashes(leaves [][]byte) [][32]byte {
	out := make([][32]byte, len(leaves))
	for i, l := range leaves {
		out[i] = leafHash(l)
	}
	return out
}

// merkleTree is the root over leaf hashes.
func merkleTree(hashes [][32]byte) [32]byte {
	switch len(hashes) {
	case 0:
		return sha256.Sum256(nil)
	case 1:
		return hashes[0]
	}
	k := splitPoint(uint64(len(hashes)))
	return innerHash(merkleTree(hashes[:k]), merkleTree(hashes[k:]))
}

// merklePath is the way up from a leaf, RFC 6962 section 2.1.1.
func merklePath(hashes [][32]byte, index uint64) []Sibling {
	if len(hashes) <= 1 {
		return []Sibling{}
	}
	if k := splitPoint(uint64(len(hashes))); index < k {
		return append(merklePath(hashes[:k], index), Sibling{Hash: merkleTree(hashes[k:])})
	} else {
		return append(merklePath(hashes[k:], index-k), Sibling{Left: true, Hash: merkleTree(hashes[:k])})
	}
}

// placed tells whether a path has the sides of a leaf's position.
func placed(path []Sibling, index, total uint64) bool {
	for i := len(path) - 1; i >= 0; i-- {
		if total <= 1 {
			return false
		}
		k := splitPoint(total)
		if path[i].Left != (index >= k) {
			return false
		}
		if index >= k {
			index, total = index-k, total-k
		} else {
			total = k
		}
	}
	return total == 1
}
