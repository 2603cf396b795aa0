package app

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
)

// ErrNotProven wraps every reason why a value does not follow from an
// application hash.
var ErrNotProven = errors.New("proof does not hold")

// maxDepth bounds a path: no tree of ours is deeper.
const maxDepth = 64

// Sibling is one step up in a Merkle tree: the hash of the other subtree, and
// whether that is the left one. As text it is "l" or "r" and 64 hex digits.
type Sibling struct {
	Left bool
	Hash [32]byte
}

// MarshalText encodes the sibling.
func (s Sibling) MarshalText() ([]byte, error) {
	side := "r"
	if s.Left {
		side = "l"
	}
	return []byte(side + hex.EncodeToString(s.Hash[:])), nil
}

// UnmarshalText is the inverse of MarshalText.
func (s *Sibling) UnmarshalText(text []byte) error {
	if len(text) != 65 || text[0] != 'l' && text[0] != 'r' {
		return fmt.Errorf("sibling %.70q: want l or r and 64 hex digits", text)
	}
	s.Left = text[0] == 'l'
	_, err := hex.Decode(s.Hash[:], text[1:])
	return err
}

// Proof is the way from a value to the application hash: a path, the leaf's
// sibling first, in each tree from the innermost to the state's own. The root of
// a tree is the leaf of the next. Sides stand for positions, because an RFC 6962
// root does not commit to the size of its tree.
//
// The keys, and the value that each proves (messages are protobuf, canonical):
//
//	params, progress                            the message
//	participants, proposals, offences, epochs   the whole list: a Document with it alone
//	participants/{index}, epochs/{epoch}        one of them; both say which they are
//	model, velocity                             all parameters, as EncodeParameters
//	chunk/{i}/{n}                               parameters 4096 i and on, of a model of n chunks
//	round/{epoch}/{round}                       the record of a closed round
type Proof struct {
	Key   string      `json:"key"`
	Paths [][]Sibling `json:"paths"`
}

// Proven is a value with its proof.
type Proven struct {
	Value []byte `json:"value"`
	Proof Proof  `json:"proof"`
}

// Encode gives the proof's bytes: JSON.
func (p Proof) Encode() []byte {
	data, err := json.Marshal(p)
	if err != nil {
		panic(err) // texts and numbers alone
	}
	return data
}

// DecodeProof is the inverse of Encode. Only canonical bytes are taken.
func DecodeProof(data []byte) (p Proof, err error) {
	if err := json.Unmarshal(data, &p); err != nil {
		return p, fmt.Errorf("%w: %w", ErrNotProven, err)
	}
	if !bytes.Equal(p.Encode(), data) {
		return p, fmt.Errorf("%w: encoding is not canonical", ErrNotProven)
	}
	return p, nil
}

// Verify tells whether the value stands under the key in the state with the
// application hash. The key is what the verifier asked for, not what it was told.
func (p Proof) Verify(key string, value []byte, hash [32]byte) error {
	if p.Key != key {
		return fmt.Errorf("%w: it is about %q, asked was %q", ErrNotProven, p.Key, key)
	}
	root, err := p.Root(value)
	if err == nil && root != hash {
		err = fmt.Errorf("%w: %s leads to application hash %X, the header has %X", ErrNotProven, key, root, hash)
	}
	return err
}

// Root is the application hash that the value leads to.
func (p Proof) Root(value []byte) (root [32]byte, err error) {
	l, err := readLeaf(p.Key, value)
	if err != nil {
		return root, fmt.Errorf("%w: %s: %w", ErrNotProven, p.Key, err)
	}
	want := 1
	if l.inner {
		want = 2
	}
	if len(p.Paths) != want {
		return root, fmt.Errorf("%w: %s has %d paths, want %d", ErrNotProven, p.Key, len(p.Paths), want)
	}
	for i, path := range p.Paths {
		if i == 1 {
			l.data = root[:]
		}
		switch {
		case len(path) > maxDepth:
			return root, fmt.Errorf("%w: path of %d steps, at most %d", ErrNotProven, len(path), maxDepth)
		case i == 0 && l.total > 0 && !placed(path, l.index, l.total):
			return root, fmt.Errorf("%w: the path is not that of leaf %d of %d", ErrNotProven, l.index, l.total)
		case i == want-1 && !placed(path, l.component, leafCount):
			return root, fmt.Errorf("%w: the path is not that of %s in the state", ErrNotProven, p.Key)
		}
		root = leafHash(l.data)
		for _, s := range path {
			if s.Left {
				root = innerHash(s.Hash, root)
			} else {
				root = innerHash(root, s.Hash)
			}
		}
	}
	return root, nil
}

// Prove gives the value under a key, and its proof. Rounds are proven by
// ProveRound.
func (s *State) Prove(key string) (Proven, error) {
	name, numbers, err := splitKey(key)
	if err != nil {
		return Proven{}, err
	}
	out := Proven{Proof: Proof{Key: key}}
	list, isList := lists[name]
	component := uint64(0)
	switch {
	case name == "params" && len(numbers) == 0:
		component, out.Value = leafParams, mustMarshal(&s.Params)
	case name == "progress" && len(numbers) == 0:
		component, out.Value = leafProgress, mustMarshal(&s.Progress)
	case name == "model" && len(numbers) == 0:
		component, out.Value = leafModel, EncodeParameters(s.Model)
	case name == "velocity" && len(numbers) == 0:
		component, out.Value = leafVelocity, EncodeParameters(s.Velocity)
	case name == "chunk" && len(numbers) == 2:
		chunks := split(EncodeParameters(s.Model))
		if numbers[1] != uint64(len(chunks)) || numbers[0] >= numbers[1] {
			return Proven{}, fmt.Errorf("%w: %s, the model has %d chunks", ErrNoLeaf, key, len(chunks))
		}
		component, out.Value = leafModel, chunks[numbers[0]]
		out.Proof.Paths = append(out.Proof.Paths, merklePath(leafHashes(chunks), numbers[0]))
	case isList && len(numbers) == 0:
		d := s.document()
		part := list.part(&d)
		component, out.Value = list.component, mustMarshal(&part)
	case isList && list.at != nil && len(numbers) == 1:
		d := s.document()
		leaves := list.leaves(&d)
		if numbers[0] >= uint64(len(leaves)) {
			return Proven{}, fmt.Errorf("%w: %s, there are %d", ErrNoLeaf, key, len(leaves))
		}
		component, out.Value = list.component, leaves[numbers[0]]
		out.Proof.Paths = append(out.Proof.Paths, merklePath(leafHashes(leaves), numbers[0]))
	default:
		return Proven{}, fmt.Errorf("%w: unknown key %.80q", ErrNoLeaf, key)
	}
	out.Proof.Paths = append(out.Proof.Paths, merklePath(leafHashes(s.leaves()), component))
	return out, nil
}

// Closed is how many rounds were closed, in all epochs.
func (s *State) Closed() uint64 { return s.history.size }

// Chunks is how many leaves the model's tree has.
func (s *State) Chunks() int { return (len(s.Model) + chunkSize - 1) / chunkSize }

// Leaf is the record's leaf in the history's tree.
func (r *Record) Leaf() [32]byte { return leafHash(mustMarshal(r)) }

// ProveRound proves the record of a closed round. The state holds no more of the
// history than its frontier, so the caller brings the leaves of all records, in
// order, and the record's place among them.
func (s *State) ProveRound(r *Record, index uint64, history [][32]byte) (Proven, error) {
	key := fmt.Sprintf("round/%d/%d", r.Epoch, r.Round)
	if index >= s.history.size || uint64(len(history)) < s.history.size {
		return Proven{}, fmt.Errorf("%w: %s is record %d of %d, the state has %d", ErrNoLeaf, key, index, len(history), s.history.size)
	}
	history = history[:s.history.size]
	if history[index] != r.Leaf() || merkleTree(history) != s.history.root() {
		return Proven{}, fmt.Errorf("%w: %s: the %d records are not those of the state", ErrNoLeaf, key, len(history))
	}
	return Proven{
		Value: mustMarshal(r),
		Proof: Proof{Key: key, Paths: [][]Sibling{merklePath(history, index), merklePath(leafHashes(s.leaves()), leafHistory)}},
	}, nil
}
