package tx

import "encoding/binary"

// These are the numbers of the fields that may hold megabytes. The generated code would copy such a
// field four times, so extractField cuts it out first.
const (
	envelopeContent = 2
	gradientPayload = 4
)

// extractField cuts the bytes field with the given number out of an encoded message. value is a
// slice of data, and rest is a copy of the message without the field. If ok is true, the field
// occurs once, is not empty, has its length in the shortest form, and is in the order of field
// numbers. In this case the message is canonical if and only if rest is canonical.
func extractField(data []byte, number uint64) (value, rest []byte, ok bool) {
	last := uint64(0)
	for at := 0; at < len(data); {
		key, begin := uint64(data[at]), at
		at++
		if key >= 0x80 || key>>3 <= last {
			return nil, nil, false
		}
		last = key >> 3
		n, size := binary.Uvarint(data[at:])
		if size <= 0 {
			return nil, nil, false
		}
		at += size
		switch key & 7 {
		case 0:
			continue
		case 2:
		default:
			return nil, nil, false
		}
		if n > uint64(len(data)-at) {
			return nil, nil, false
		}
		end := at + int(n)
		if last == number {
			if n == 0 || size != len(binary.AppendUvarint(nil, n)) {
				return nil, nil, false
			}
			value = data[at:end:end]
			rest = append(append(make([]byte, 0, len(data)-end+begin), data[:begin]...), data[end:]...)
		}
		at = end
	}
	return value, rest, value != nil
}
