package worker

import (
	"context"
	"errors"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
)

// Task is an open round as seen by a participant.
type Task struct {
	ChainID     string
	Epoch       uint64
	Round       uint64
	Finished    bool   // all rounds of the epoch are closed
	Seed        []byte // part of the input of the round's VRF proof
	Params      params.Params
	Participant app.Participant
	Active      int       // participants: N
	Unawaited   bool      // the round may close at once without the participant's gradient
	Overdue     bool      // f+1 leaders could have closed the round, given N-f gradients
	Phase       Phase     // what the round takes from the participant
	Model       []float64 // x^(t)
}

// Phase says what an open round takes from a participant. Without commit_reveal it is always
// Reveal.
type Phase int

// The phases.
const (
	Reveal Phase = iota // its gradient
	Commit              // only its commitment: the gradient stays secret
	Missed              // nothing: the commit phase ended without the participant's commitment
)

// Chain is the chain as a worker sees it: in the process of a node or over
// its RPC.
type Chain interface {
	// Await blocks until another round than last's is open, or the round is in another phase, and
	// returns the task. After an epoch's last round it returns a task that is Finished. A nil last
	// returns at once.
	Await(ctx context.Context, pub []byte, last *Task) (*Task, error)
	// Lead blocks until the participant may sign an aggregate that the node does not have yet, and
	// returns the draft.
	Lead(ctx context.Context, participant uint32) (*tx.Aggregate, error)
	// Submit broadcasts a transaction. A transaction that the node has already
	// is no error. ErrRejected means that sending it again is of no use.
	Submit(ctx context.Context, t *tx.Tx) error
}

// Forger is the chain of a malicious participant: it returns the gradient to send, and to commit
// to, in place of the worker's, or nil to send none.
type Forger interface {
	Forge(ctx context.Context, t *tx.Tx) (*tx.Tx, error)
	// Sign signs the commitment to what Forge returned, which no honest signer signs.
	Sign(chainID string, body tx.Body) (*tx.Tx, error)
}

// ErrRejected means that a transaction reached the chain and the chain rejected it.
var ErrRejected = errors.New("transaction rejected")

// ErrUnfit means that the home's data or trainer do not fit the parameters of an epoch.
var ErrUnfit = errors.New("this participant cannot take part in the epoch")

// ErrPolicy means that an epoch's parameters give less privacy than the home requires.
var ErrPolicy = errors.New("the epoch gives less privacy than this home demands")

// ErrSigner means that the signer does not answer, or fails. What it signed last is then unknown.
var ErrSigner = errors.New("the signer does not answer")

// ErrForeign means that a signer was asked for another chain or participant than its own.
var ErrForeign = errors.New("the signer signs for another chain or participant")

// ErrRate means that a signer was asked too often. It has signed nothing, and is asked again later.
var ErrRate = errors.New("the signer is asked too often")

// ErrSigned means that a signer has signed other bytes for the same place, or must not sign these.
var ErrSigned = errors.New("the signer rejects the request")

// ErrDraft means that this worker must not sign an aggregate.
var ErrDraft = errors.New("draft is not to be signed")

// ErrBudget means that the participant's privacy budget is spent.
var ErrBudget = errors.New("privacy budget is spent")

// ErrNotParticipant means that the key is not an active participant's.
var ErrNotParticipant = errors.New("key is not an active participant's")
