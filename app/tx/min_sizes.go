package tx

import (
	"encoding/binary"
	"fmt"
)

// MinSizes maps the field numbers of a message's lists to the min size of an entry in bytes. Check
// compares the sizes before a message is decoded, because an empty entry takes two bytes on the
// wire and up to hundreds of bytes in memory. Without that check, six megabytes of an unsigned
// transaction, or four megabytes of a peer's snapshot, would take gigabytes.
type MinSizes map[uint64]struct {
	Bytes int
	Inner MinSizes // for entries that contain lists themselves: the min sizes in these lists
}

// leastAggregate requires a hash of 32 bytes in each entry of an aggregate's list.
var leastAggregate = MinSizes{5: {Bytes: 32}}

// Check rejects an encoded message with an entry below its min size. It does not decode the message.
func (l MinSizes) Check(data []byte) error {
	for at := 0; at < len(data); {
		key, size := binary.Uvarint(data[at:])
		if size <= 0 || size > 2 || key>>3 > 31 { // the decoder would misread a padded key
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
			if len(entry) < list.Bytes {
				return fmt.Errorf("an entry of field %d has %d bytes, want at least %d", number, n, list.Bytes)
			}
			if list.Inner == nil {
				continue
			}
			if err := list.Inner.Check(entry); err != nil {
				return fmt.Errorf("field %d: %w", number, err)
			}
		default:
			return fmt.Errorf("field %d is of sort %d, which no message has", number, key&7)
		}
	}
	return nil
}
