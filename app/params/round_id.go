package params

// RoundID names a round: its number within an epoch. It is comparable.
type RoundID struct{ Epoch, Round uint64 }
