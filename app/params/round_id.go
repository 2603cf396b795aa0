package params

import "strconv"

// RoundID names a round by the number of its epoch and its own number within that epoch. It is comparable.
type RoundID struct{ Epoch, Round uint64 }

// String returns epoch and round in the form of query paths, as "0/12".
func (r RoundID) String() string {
	return strconv.FormatUint(r.Epoch, 10) + "/" + strconv.FormatUint(r.Round, 10)
}
