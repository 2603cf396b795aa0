package app

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"github.com/spdl/spdl/app/tx"
)

// These are the min sizes of the list entries in messages from untrusted sources, by field number.
var (
	leastParticipant = tx.MinSizes{13: {Bytes: 32}, 22: {Bytes: 32}} // former keys: each entry holds a key
	leastProgress    = tx.MinSizes{
		9:  {Bytes: 7},  // upgrades: each entry holds a name, a height and a version
		10: {Bytes: 32}, // commitments: each entry holds a hash
	}
	leastDocument = tx.MinSizes{
		3:  {Inner: leastProgress},
		4:  {Bytes: 96, Inner: leastParticipant}, // participants: each entry holds two keys and an id, 32 bytes each
		8:  {Bytes: 32},                          // history: each entry is a hash
		9:  {Bytes: 32},                          // proposals: each entry holds an id
		10: {Bytes: 32},                          // offences: each entry holds a hash or a key
		11: {Bytes: 64},                          // epochs: each entry holds a hash and parameters
	}
	leastRecord = tx.MinSizes{7: {Bytes: 64}} // contributions: each entry holds a VRF output
)

// leastElement is the min size in bytes of an element that SplitList accepts.
const leastElement = 32

// DecodeRecord decodes a round's record from an untrusted source.
func DecodeRecord(data []byte) (r Record, err error) {
	if err := leastRecord.Check(data); err != nil {
		return r, fmt.Errorf("record: %w", err)
	}
	if err := r.Unmarshal(data); err != nil {
		return r, fmt.Errorf("record: %w", err)
	}
	return r, nil
}

// JoinList encodes a list as one value: each element is prefixed with its length as an unsigned varint.
func JoinList(elements [][]byte) (list []byte) {
	for _, e := range elements {
		list = append(binary.AppendUvarint(list, uint64(len(e))), e...)
	}
	return list
}

// SplitList is the inverse of JoinList, for bytes from an untrusted source. It fails if a length is
// below leastElement, beyond the end of the list, or not in its shortest encoding.
func SplitList(list []byte) (elements [][]byte, err error) {
	for rest := list; len(rest) > 0; {
		n, size := binary.Uvarint(rest)
		if size <= 0 || n < leastElement || n > uint64(len(rest)-size) {
			return nil, fmt.Errorf("element %d of the list has %d bytes, want at least %d and at most the rest", len(elements),
				n, leastElement)
		}
		elements = append(elements, rest[size:size+int(n)])
		rest = rest[size+int(n):]
	}
	if !bytes.Equal(JoinList(elements), list) {
		return nil, fmt.Errorf("a length in the list is not in its shortest form")
	}
	return elements, nil
}

// DecodeParticipants decodes a list of participants from an untrusted source.
func DecodeParticipants(list []byte) ([]Participant, error) {
	return decodeList[Participant](list, leastParticipant)
}

// DecodeEpochs decodes a list of epochs from an untrusted source.
func DecodeEpochs(list []byte) ([]Epoch, error) { return decodeList[Epoch](list, nil) }

// DecodeOffences decodes a list of offences from an untrusted source.
func DecodeOffences(list []byte) ([]Offence, error) { return decodeList[Offence](list, nil) }

// DecodeProposals decodes a list of proposals from an untrusted source.
func DecodeProposals(list []byte) ([]Proposal, error) { return decodeList[Proposal](list, nil) }

func decodeList[M any, P interface {
	*M
	Unmarshal([]byte) error
}](list []byte, least tx.MinSizes) ([]M, error) {
	elements, err := SplitList(list)
	if err != nil {
		return nil, err
	}
	out := make([]M, len(elements))
	for i, e := range elements {
		if err := least.Check(e); err != nil {
			return nil, fmt.Errorf("element %d of the list: %w", i, err)
		}
		if err := P(&out[i]).Unmarshal(e); err != nil {
			return nil, fmt.Errorf("element %d of the list: %w", i, err)
		}
	}
	return out, nil
}
