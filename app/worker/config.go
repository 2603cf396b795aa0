package worker

import (
	"context"
	"crypto/ed25519"
	"time"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/mnist"
	"github.com/spdl/spdl/privacy"
)

// Keys are a participant's keys for signatures and for VRF proofs.
type Keys struct{ Signing, VRF ed25519.PrivateKey }

// Public returns the public signing key.
func (k Keys) Public() ed25519.PublicKey { return k.Signing.Public().(ed25519.PublicKey) }

// Config is one worker.
type Config struct {
	// Signer signs; nil is a Local one with Keys, Reload, Journal and GroupSync.
	Signer Signer
	Keys   Keys
	// Reload reads the keys again when the chain no longer knows them, after a rotation. It may be
	// nil.
	Reload  func() (Keys, error)
	Journal string // path of the journal
	// GroupSync syncs the journals of the workers of one process; nil syncs this journal alone.
	GroupSync *GroupSync
	// Policy checks an epoch's parameters against the home's own requirements. It returns the
	// privacy parameters with the cost of a gradient and the budget as the home computes them, or
	// ErrPolicy. If it is nil, the chain's apply unchecked.
	Policy func(Task) (params.Privacy, error)
	// Consent returns nil if the home consents to the training of the task's epoch on its data, or an
	// ErrConsent that says what is awaited. It is called before the data are read or the External
	// program starts, and before each gradient is signed. If it is nil, nothing is asked.
	Consent func(Task) error
	// Follow makes the worker go on to the next epoch, whenever it opens. Without it the worker
	// ends with its epoch.
	Follow bool
	// Data returns the participant's examples for the chain's model; called
	// once an epoch.
	Data func(Task) (mnist.Features, error)
	// External starts the participant's own program for an external model; called once an
	// epoch in place of Data. It may be nil.
	External func(context.Context, Task) (Examples, error)
	// Source is the secret randomness. Nil takes the operating system's, or a generator with the
	// seed TestSeed if that is not 0, on test chains only.
	Source   *privacy.Source
	TestSeed uint64
	// Retry is the pause after a failed call and before a gradient is sent
	// again while its round stays open. Default 500 ms.
	Retry time.Duration
	// LogLoss writes the loss of each batch to the log. It is computed from the examples without
	// noise, and no epsilon pays for it: the log reveals something of the examples.
	LogLoss bool
	// Turns limits how many workers of one process compute at once: they share the channel, and its
	// capacity is the limit. Nil is no limit.
	Turns chan struct{}
	// StepDelay is added to every training step, to simulate a task with slow steps.
	StepDelay time.Duration
	// Log takes messages for people. It may be nil.
	Log func(message string, keyvals ...any)
}
