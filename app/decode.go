package app

import (
	"encoding/binary"
	"fmt"
)

// least are the bytes that the entries of a message's lists have at least, by the
// number of the field. An empty entry takes two bytes on the wire and hundreds
// when it is decoded: without a look before, four megabytes of a peer's snapshot,
// or of a node's answer, take gigabytes.
type least map[uint64]struct {
	bytes int
	inner least // of the lists in an entry
}

var (
	leastDocument = least{
		4:  {96, least{13: {32, nil}}}, // participants: three keys of 32 bytes and an id; former_keys
		8:  {32, nil},                  // history
		9:  {32, nil},                  // proposals: an id
		10: {32, nil},                  // offences: a hash
		11: {64, nil},                  // epochs: a hash and parameters
	}
	leastRecord = least{7: {96, nil}} // contributions: a hash and a draw
)

// check goes through an encoded message without decoding it.
func (l least) check(data []byte) error {
	for at := 0; at < len(data); {
		key, size := binary.Uvarint(data[at:])
		if size <= 0 || size > 2 || key>>3 > 31 { // what is padded the decoder takes for another field
			return fmt.Errorf("byte %d begins no field", at)
		}
		at += size
		number := key >> 3
		switch key & 7 {
		case 0:
			_, size = binary.Uvarint(data[at:])
			if size <= 0 {
				return fmt.Errorf("field %d has no value", number)
			}
			at += size
		case 1:
			at += 8
		case 2:
			n, size := binary.Uvarint(data[at:])
			if size <= 0 || n > uint64(len(data)-at-size) {
				return fmt.Errorf("field %d is cut off", number)
			}
			entry := data[at+size : at+size+int(n)]
			at += size + int(n)
			list, ok := l[number]
			if !ok {
				continue
			}
			if len(entry) < list.bytes {
				return fmt.Errorf("an entry of field %d has %d bytes, want at least %d", number, n, list.bytes)
			}
			if list.inner == nil {
				continue
			}
			if err := list.inner.check(entry); err != nil {
				return fmt.Errorf("field %d: %w", number, err)
			}
		default:
			return fmt.Errorf("field %d is of sort %d, which no message has", number, key&7)
		}
	}
	return nil
}

// DecodeRecord reads a round's record of any origin.
func DecodeRecord(data []byte) (r Record, err error) {
	if err := leastRecord.check(data); err != nil {
		return r, fmt.Errorf("record: %w", err)
	}
	if err := r.Unmarshal(data); err != nil {
		return r, fmt.Errorf("record: %w", err)
	}
	return r, nil
}
