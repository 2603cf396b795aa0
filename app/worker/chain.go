package worker

import (
	"context"
	"errors"
	"fmt"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/tx"
)

// Task is the open round as it concerns one participant.
type Task struct {
	ChainID     string
	Epoch       uint64
	Round       uint64
	Finished    bool   // whether all rounds of the epoch are closed
	Seed        []byte // the seed in the input of the round's VRF proof
	Params      params.Params
	Participant app.Participant
	Active      int       // N, the number of active participants
	Unawaited   bool      // whether the round does not wait for the participant's gradient (A5)
	Rest        *uint64   // the round that ends the participant's rest (app.State.RestEnds); nil without a rest
	MayPresent  bool      // whether a Present ends the rest sooner
	Observed    Observed  // what the participant's node observed in the previous round
	Overdue     bool      // whether the round had time to close with N-f gradients (app.State.Overdue)
	Phase       Phase     // the transaction that the round takes from the participant
	Model       []float64 // the parameters before the round, x^(t)
}

// Observed is what a node observed, by its own clock, in the round before the open one.
type Observed struct {
	Late []uint32 `json:"late,omitempty"` // participants whose commitment or gradient came late
	// Failed are the leaders that let their view pass, or left out a gradient that was there in time.
	Failed []uint32 `json:"failed,omitempty"`
}

// Phase says which transaction an open round takes from a participant. Without commit_reveal the
// phase is always Reveal.
type Phase int

// These are the phases of a round for a participant.
const (
	Reveal Phase = iota // the round takes the participant's gradient
	Commit              // the round takes only the participant's commitment, and the gradient stays secret
	Missed              // the round takes no transaction: its commit phase ended without the participant's commitment
)

// Chain is a worker's access to the chain: in the process of its node, or over the RPC of a node.
type Chain interface {
	// Await blocks until the open round or its phase differs from that of lastTask, and returns the new task of the
	// participant with the signing key pub. After an epoch's last round it returns a task with Finished set. If lastTask
	// is nil, it returns at once. It fails with ErrNotParticipant if pub is not the key of an active participant.
	Await(ctx context.Context, pub []byte, lastTask *Task) (*Task, error)
	// Lead waits until the participant may sign an aggregate that the node does not have yet, and
	// returns the draft of that aggregate.
	Lead(ctx context.Context, participant uint32) (*tx.Aggregate, error)
	// Submit broadcasts a transaction. It returns nil if the node already has the transaction. It
	// fails with ErrRejected if the chain rejects the transaction. In that case sending the
	// transaction again is of no use; after any other error the worker sends it again.
	Submit(ctx context.Context, t *tx.Tx) error
}

// Forger is a Chain for a malicious participant in tests. Forge returns the gradient that the worker sends, and commits
// to, in place of its own gradient t. If Forge returns nil, the worker sends no gradient.
type Forger interface {
	Forge(ctx context.Context, t *tx.Tx) (*tx.Tx, error)
	// Sign signs the commitment to the gradient from Forge, which no honest signer would sign, with its VRF proof.
	Sign(task *Task, c *tx.Commit) (*tx.Tx, error)
}

// ErrRejected means that a transaction reached the chain and the chain rejected it.
var ErrRejected = errors.New("transaction rejected")

// ErrData means that the home's training data cannot be read, for example because a disk is not mounted.
var ErrData = errors.New("the training data cannot be read")

// ErrUnfit means that the home's data or trainer do not fit the parameters of an epoch.
var ErrUnfit = errors.New("this participant cannot take part in the epoch")

// ErrPolicy means that an epoch's parameters give less privacy than the home requires.
var ErrPolicy = errors.New("the epoch gives less privacy than this home demands")

// ErrSigner means that the signer does not answer, or fails. The worker then does not know whether
// the signer has signed the request.
var ErrSigner = errors.New("the signer does not answer")

// ErrForeign means that a signer was asked to sign for a chain or participant that is not the signer's.
var ErrForeign = errors.New("the signer signs for another chain or participant")

// ErrRate means that a signer was asked too often. The signer has not signed the request, and the
// worker asks again later.
var ErrRate = errors.New("the signer is asked too often")

// ErrSigned means that a signer has already signed other bytes for the same round, or that it must
// not sign these bytes.
var ErrSigned = errors.New("the signer rejects the request")

// ErrDraft means that an aggregate must not be signed by this participant.
var ErrDraft = errors.New("draft is not to be signed")

// ErrBudget means that the participant's privacy budget is spent.
var ErrBudget = errors.New("privacy budget is spent")

// ErrNotParticipant means that a key belongs to no active participant.
var ErrNotParticipant = errors.New("key is not an active participant's")

// errRotated and errLeft wrap ErrNotParticipant for a key that belonged to an active participant before.
var (
	errRotated = fmt.Errorf("%w: it was replaced by a rotation that is in force", ErrNotParticipant)
	errLeft    = fmt.Errorf("%w: its participant has left or was removed", ErrNotParticipant)
)
