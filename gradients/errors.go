package gradients

import "errors"

// The errors about a payload or a genesis value wrap one of these and name the value and its bound.
var (
	// ErrWidth: the width is neither Int8 nor Int16.
	ErrWidth = errors.New("unknown coordinate width")
	// ErrStep: the grid's step is not a positive finite number.
	ErrStep = errors.New("bad grid step")
	// ErrLength: the number of coordinates, or of payload bytes, is not what it must be.
	ErrLength = errors.New("wrong length")
	// ErrRange: a coordinate or an aggregate's numerator lies outside the grid.
	ErrRange = errors.New("value out of range")
	// ErrDenominator: an aggregate's denominator lies outside [1, MaxDenominator].
	ErrDenominator = errors.New("bad denominator")
)
