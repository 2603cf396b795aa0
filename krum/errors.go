package krum

import "errors"

// The errors of a selection wrap one of these and name the numbers.
var (
	// ErrInfeasible: N, f, m or the floor make no sense together, whatever the vectors.
	ErrInfeasible = errors.New("infeasible parameters")
	// ErrTooFew: so few vectors are included that none has N-f-2 others, so every score is
	// infinite.
	ErrTooFew = errors.New("too few vectors")
	// ErrCondition: the parameters are usable but outside the theorem.
	ErrCondition = errors.New("outside the resilience theorem")
)
