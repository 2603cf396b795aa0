package app

import (
	"fmt"

	"github.com/spdl/spdl/app/tx"
)

var (
	leastDocument = tx.Least{
		4:  {Bytes: 96, Inner: tx.Least{13: {Bytes: 32}}}, // participants: three keys of 32 bytes and an id; former_keys
		8:  {Bytes: 32},                                   // history
		9:  {Bytes: 32},                                   // proposals: an id
		10: {Bytes: 32},                                   // offences: a hash
		11: {Bytes: 64},                                   // epochs: a hash and parameters
	}
	leastRecord = tx.Least{7: {Bytes: 96}} // contributions: a hash and a draw
)

// DecodeRecord reads a round's record of any origin.
func DecodeRecord(data []byte) (r Record, err error) {
	if err := leastRecord.Check(data); err != nil {
		return r, fmt.Errorf("record: %w", err)
	}
	if err := r.Unmarshal(data); err != nil {
		return r, fmt.Errorf("record: %w", err)
	}
	return r, nil
}
