package worker

import (
	"context"
	"crypto/ed25519"
	"fmt"
	"time"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/mnist"
	"github.com/spdl/spdl/privacy"
)

// Keys are a participant's keys for signatures and for VRF proofs.
type Keys struct{ Signing, VRF ed25519.PrivateKey }

// Public returns the public signing key.
func (k Keys) Public() ed25519.PublicKey { return k.Signing.Public().(ed25519.PublicKey) }

// Config is the configuration of one worker.
type Config struct {
	// Signer signs for the participant. Nil stands for a Local signer with Keys, Reload and Journal.
	Signer Signer
	Keys   Keys
	// Reload reads the keys again. The worker calls it if the chain does not know the current keys,
	// for example after a key rotation. It may be nil.
	Reload  func() (Keys, error)
	Journal string // the path of the journal; empty keeps the journal in memory
	// Policy checks an epoch's parameters against the requirements of the home. It returns the privacy parameters with the
	// cost and the budget that the home computes. It fails with ErrPolicy if the epoch gives too little privacy. With a
	// nil Policy the worker accepts the chain's parameters.
	Policy func(Task) (params.Privacy, error)
	// Consent returns nil if the home consents to a training on its data in the task's epoch, and an ErrConsent with the
	// reason if not. The worker calls Consent before it reads data or starts the External program, and before it signs a
	// gradient. A nil Consent means that the home always consents.
	Consent func(Task) error
	// Follow makes the worker continue with the next epoch, whenever that epoch opens. Without
	// Follow the worker ends with its first epoch.
	Follow bool
	// Data returns the participant's examples as inputs of the task's model. The worker calls it
	// once an epoch, and again after consent was withdrawn and given again. The end of the context ends a long
	// computation, with an error that matches context.Canceled.
	Data func(context.Context, Task) (mnist.Features, error)
	// External starts the participant's own program for an external model. The worker calls it in
	// place of Data. A nil External means that the home has no such program.
	External func(context.Context, Task) (Examples, error)
	// Source is the secret randomness. Nil stands for the randomness of the operating system. On
	// test chains a TestSeed other than 0 selects a generator with that seed instead.
	Source   *privacy.Source
	TestSeed uint64
	// Retry is the pause after a failed call, and the pause before a gradient is sent again while
	// its round is open. The default is 500 ms.
	Retry time.Duration
	// LogLoss makes the worker log the loss of each batch. The loss is computed from the examples without noise, and no
	// epsilon pays for it, so these messages reveal information about the examples.
	LogLoss bool
	// Turns limits how many workers of one process compute at once. All these workers share one
	// channel, whose capacity is the limit. A nil channel sets no limit.
	Turns chan struct{}
	// StepDelay is added to every training step, to simulate a task with slow steps.
	StepDelay time.Duration
	// Log takes messages for the operator, and Says the worker's step whenever that changes. They may be nil.
	Log  func(message string, keyvals ...any)
	Says func(Step)
}

// computes is the value of Step.Does for a step of the training.
const computes = "computing a gradient"

// Step is what a worker is at.
type Step struct {
	Does  string        // what the worker does since Since; "" while it waits for the chain
	Since time.Time     // in the clock of this machine
	Round uint64        // the open round
	Took  time.Duration // of the last attempt at a gradient; 0 before the first
	Fails bool          // whether that attempt gave no gradient, as where the trainer failed or was late
}

// Text describes a step of a second or more, "" for a shorter one. isSlow reports whether steps take more than half of
// the time for which a round waits.
func (s Step) Text(wait time.Duration) (text string, isSlow bool) {
	lasts, wait := time.Since(s.Since), wait.Round(10*time.Millisecond)
	isSlow = s.Took > max(time.Second, wait/2) || s.Does == computes && lasts > max(time.Second, wait)
	switch {
	case s.Does != "" && lasts >= time.Second:
		text = fmt.Sprintf("%s for %v (round %d; a round waits %v)", s.Does, lasts.Round(time.Second), s.Round, wait)
	case isSlow:
		text = fmt.Sprintf("its steps take %v, and a round waits %v", s.Took.Round(100*time.Millisecond), wait)
	}
	return text, isSlow
}
