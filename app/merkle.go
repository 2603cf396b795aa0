package app

import (
	"crypto/sha256"
	"encoding/binary"
	"math/bits"
	"strconv"
)

// The Merkle trees follow RFC 6962, section 2.1. Their leaves are key-value pairs in the encoding
// of CometBFT's package crypto/merkle, so that merkle.ValueOp of that package proves a value under
// its key. Tests of abci/proof compare the two implementations.

// Pair is a leaf of a tree. No two leaves of a tree have the same key, so a key determines the leaf's position.
type Pair struct {
	Key   string
	Value []byte
}

// Leaf returns the data of the leaf: the key and the SHA-256 of the value, each prefixed with its
// length as an unsigned varint.
func (p Pair) Leaf() []byte {
	hash := sha256.Sum256(p.Value)
	out := make([]byte, 0, len(p.Key)+len(hash)+3)
	out = append(binary.AppendUvarint(out, uint64(len(p.Key))), p.Key...)
	return append(binary.AppendUvarint(out, uint64(len(hash))), hash[:]...)
}

// Root returns the root of the tree over the pairs, in their order. Without pairs it is the SHA-256
// of the empty string.
func Root(tree []Pair) [32]byte {
	var f frontier
	for _, p := range tree {
		f.push(p.Leaf())
	}
	return f.root()
}

// Indexed returns the leaves of the tree over a list. The key of each element is its position, from
// 0, in decimal digits.
func Indexed(elements [][]byte) []Pair {
	out := make([]Pair, len(elements))
	for i, e := range elements {
		out[i] = Pair{strconv.Itoa(i), e}
	}
	return out
}

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

// frontier is an append-only Merkle tree of size leaves. It stores only the peaks: the roots of the
// full subtrees, largest subtree first, one for each bit that is set in size. It takes O(log size)
// bytes, so that a state can carry the root of the whole history.
type frontier struct {
	size  uint64
	peaks [][32]byte
}

// push appends a leaf. It merges the peaks of equal subtrees, as a binary counter carries, until all
// subtrees differ in size.
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
