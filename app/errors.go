package app

import "errors"

// The validity rules of SPEC.md as sentinels. Every refusal wraps one.
var (
	ErrWrongRound     = errors.New("G1: gradient is not for the open round")
	ErrNotParticipant = errors.New("G2: sender is not an active participant")
	ErrPayload        = errors.New("G3: payload is not a vector of the grid")
	ErrGradientSigned = errors.New("G4: gradient is not signed by its sender")
	ErrProof          = errors.New("G5: lottery proof is not valid")

	ErrAggregateRound  = errors.New("A1: aggregate is not for the open round")
	ErrNotLeader       = errors.New("A2: signer may not lead in this view")
	ErrViewClosed      = errors.New("A3: view is not open at this height")
	ErrIncluded        = errors.New("A4: included set is not well-formed")
	ErrTooFewIncluded  = errors.New("A5: included set is too small at this height")
	ErrAggregateSigned = errors.New("A6: aggregate is not signed by its leader")
	ErrDeltaForm       = errors.New("A7: Delta is not in the form that the tolerance asks for")

	ErrOrder      = errors.New("B1: block is not an aggregate followed by its gradients")
	ErrMismatch   = errors.New("B2: gradients of the block are not those of the aggregate")
	ErrTolerance  = errors.New("B3: Delta is outside the tolerance")
	ErrFinished   = errors.New("B4: training is finished")
	ErrHeight     = errors.New("B5: height does not follow the state's")
	ErrGenesis    = errors.New("invalid genesis")
	ErrNotClosing = errors.New("round cannot be closed yet")
)
