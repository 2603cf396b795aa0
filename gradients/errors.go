package gradients

import "errors"

// Every error about a payload or a genesis value wraps one of these, and names the value and its bound.
var (
	// ErrWidth means that the width is neither Int8 nor Int16.
	ErrWidth = errors.New("unknown coordinate width")
	// ErrStep means that the grid's step is not a positive finite number.
	ErrStep = errors.New("bad grid step")
	// ErrLength means that the number of coordinates, or of payload bytes, is wrong.
	ErrLength = errors.New("wrong length")
	// ErrRange means that a coordinate, or an aggregate's numerator, is outside the grid.
	ErrRange = errors.New("value out of range")
	// ErrDenominator means that an aggregate's denominator is outside [1, MaxDenominator].
	ErrDenominator = errors.New("bad denominator")
)
