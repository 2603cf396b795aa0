package app

import (
	"bytes"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/spdl/spdl/app/params"
)

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
	part      func(*Document) Document                     // the list alone
	leaves    func(*Document) [][]byte                     // its elements, encoded
	at        func(data []byte) (uint64, marshaler, error) // one element and which it says that it is
}{
	"participants": {leafParticipants, func(d *Document) Document { return Document{Participants: d.Participants} },
		func(d *Document) [][]byte { return encodeList(d.Participants) },
		func(data []byte) (uint64, marshaler, error) {
			var p Participant
			err := leastDocument[4].Inner.Check(data)
			if err == nil {
				err = p.Unmarshal(data)
			}
			return uint64(p.Index), &p, err
		}},
	"proposals": {leafProposals, func(d *Document) Document { return Document{Proposals: d.Proposals} },
		func(d *Document) [][]byte { return encodeList(d.Proposals) }, nil},
	"offences": {leafOffences, func(d *Document) Document { return Document{Offences: d.Offences} },
		func(d *Document) [][]byte { return encodeList(d.Offences) }, nil},
	"epochs": {leafEpochs, func(d *Document) Document { return Document{Epochs: d.Epochs} },
		func(d *Document) [][]byte { return encodeList(d.Epochs) },
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
		return leaf{component: leafParams, data: value}, canonicalMessage(value, new(params.Params))
	case name == "progress" && len(numbers) == 0:
		return leaf{component: leafProgress, data: value}, canonicalMessage(value, new(Progress))
	case isList && len(numbers) == 0:
		var d Document
		if err := leastDocument.Check(value); err != nil {
			return leaf{}, err
		}
		if err := canonicalMessage(value, &d); err != nil {
			return leaf{}, err
		}
		if part := list.part(&d); !bytes.Equal(mustMarshal(&part), value) {
			return leaf{}, errors.New("document holds more than the list")
		}
		root := merkleRoot(list.leaves(&d))
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
		err := leastRecord.Check(value)
		if err == nil {
			err = canonicalMessage(value, &r)
		}
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
