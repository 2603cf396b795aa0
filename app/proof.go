package app

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// ErrNotProven wraps every reason why a value does not follow from an
// application hash.
var ErrNotProven = errors.New("proof does not hold")

// ErrNoLeaf tells that the state has nothing under a key.
var ErrNoLeaf = errors.New("nothing in the state to prove")

// The leaves of the state's tree, in order.
const (
	leafParams = iota
	leafProgress
	leafParticipants
	leafModel
	leafVelocity
	leafHistory
	leafProposals
	leafOffences
	leafEpochs
	leafCount
)

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

// leaf is what a key and its value amount to.
type leaf struct {
	component    uint64 // leaf of the state's tree
	data         []byte // of the innermost tree's leaf
	inner        bool   // that tree is below the state's
	index, total uint64 // position in it, where the key says it
}

// lists are the components that are lists of messages, by name.
var lists = map[string]struct {
	component uint64
	part      func(*Document) Document // the list alone
	root      func(*Document) [32]byte
	at        func(data []byte) (uint64, marshaler, error) // one element and which it says that it is
}{
	"participants": {leafParticipants, func(d *Document) Document { return Document{Participants: d.Participants} },
		func(d *Document) [32]byte { return listRoot(d.Participants) },
		func(data []byte) (uint64, marshaler, error) {
			var p Participant
			err := p.Unmarshal(data)
			return uint64(p.Index), &p, err
		}},
	"proposals": {leafProposals, func(d *Document) Document { return Document{Proposals: d.Proposals} },
		func(d *Document) [32]byte { return listRoot(d.Proposals) }, nil},
	"offences": {leafOffences, func(d *Document) Document { return Document{Offences: d.Offences} },
		func(d *Document) [32]byte { return listRoot(d.Offences) }, nil},
	"epochs": {leafEpochs, func(d *Document) Document { return Document{Epochs: d.Epochs} },
		func(d *Document) [32]byte { return listRoot(d.Epochs) },
		func(data []byte) (uint64, marshaler, error) {
			var e Epoch
			err := e.Unmarshal(data)
			return e.Epoch, &e, err
		}},
}

// readLeaf checks a value against what its key promises.
func readLeaf(key string, value []byte) (leaf, error) {
	name, numbers, err := splitKey(key)
	if err != nil {
		return leaf{}, err
	}
	list, isList := lists[name]
	switch {
	case name == "params" && len(numbers) == 0:
		return leaf{component: leafParams, data: value}, canonicalMessage(value, new(Params))
	case name == "progress" && len(numbers) == 0:
		return leaf{component: leafProgress, data: value}, canonicalMessage(value, new(Progress))
	case isList && len(numbers) == 0:
		var d Document
		if err := canonicalMessage(value, &d); err != nil {
			return leaf{}, err
		}
		if part := list.part(&d); !bytes.Equal(mustMarshal(&part), value) {
			return leaf{}, errors.New("document holds more than the list")
		}
		root := list.root(&d)
		return leaf{component: list.component, data: root[:]}, nil
	case isList && list.at != nil && len(numbers) == 1:
		index, m, err := list.at(value)
		if err == nil && !bytes.Equal(mustMarshal(m), value) {
			err = errors.New("encoding is not canonical")
		}
		if err == nil && index != numbers[0] {
			err = fmt.Errorf("value is number %d", index)
		}
		return leaf{component: list.component, data: value, inner: true}, err
	case (name == "model" || name == "velocity") && len(numbers) == 0:
		x, err := DecodeParameters(value)
		root := ModelHash(x)
		component := uint64(leafModel)
		if name == "velocity" {
			component = leafVelocity
		}
		return leaf{component: component, data: root[:]}, err
	case name == "chunk" && len(numbers) == 2:
		i, n := numbers[0], numbers[1]
		if i >= n || len(value) == 0 || len(value) > 8*chunkSize || len(value)%8 != 0 || i < n-1 && len(value) != 8*chunkSize {
			return leaf{}, fmt.Errorf("%d bytes are no chunk %d of %d", len(value), i, n)
		}
		return leaf{component: leafModel, data: value, inner: true, index: i, total: n}, nil
	case name == "round" && len(numbers) == 2:
		var r Record
		err := canonicalMessage(value, &r)
		if err == nil && (r.Epoch != numbers[0] || r.Round != numbers[1]) {
			err = fmt.Errorf("value is the record of epoch %d round %d", r.Epoch, r.Round)
		}
		return leaf{component: leafHistory, data: value, inner: true}, err
	}
	return leaf{}, fmt.Errorf("%w: unknown key", ErrNoLeaf)
}

// splitKey reads name/number/number, numbers in their one decimal form.
func splitKey(key string) (name string, numbers []uint64, err error) {
	parts := strings.Split(key, "/")
	for _, part := range parts[1:] {
		x, err := strconv.ParseUint(part, 10, 64)
		if err != nil || strconv.FormatUint(x, 10) != part {
			return "", nil, fmt.Errorf("%w: key %.80q", ErrNoLeaf, key)
		}
		numbers = append(numbers, x)
	}
	return parts[0], numbers, nil
}

// canonicalMessage decodes a message that has no other encoding.
func canonicalMessage(data []byte, m interface {
	marshaler
	Unmarshal([]byte) error
}) error {
	if err := m.Unmarshal(data); err != nil {
		return err
	}
	if !bytes.Equal(mustMarshal(m), data) {
		return errors.New("encoding is not canonical")
	}
	return nil
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
		leaves := encodeList(s.Participants)
		if name == "epochs" {
			leaves = encodeList(s.Epochs)
		}
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

func encodeList[M any, P interface {
	*M
	marshaler
}](list []M) [][]byte {
	out := make([][]byte, len(list))
	for i := range list {
		out[i] = mustMarshal(P(&list[i]))
	}
	return out
}

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
