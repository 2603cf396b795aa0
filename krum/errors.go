package krum

import "errors"

// Every error of a selection wraps one of these and names the numbers.
var (
	// ErrInfeasible means that N, f, m and the floor do not fit together, whatever the vectors are.
	ErrInfeasible = errors.New("infeasible parameters")
	// ErrTooFew means that every score is infinite: no vector has N-f-2 others among the included vectors.
	ErrTooFew = errors.New("too few vectors")
	// ErrCondition means that the parameters are usable but outside the theorem.
	ErrCondition = errors.New("outside the resilience theorem")
)
