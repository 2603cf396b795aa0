package app

import (
	"crypto/ed25519"
	"fmt"
	"strconv"

	"github.com/spdl/spdl/app/tx"
)

// These limits hold for one block. A Join costs its sender nothing, and costs every node three
// signature checks and space in the store. An Approve that carries a Join costs the same as a Join.
const (
	maxOperations = 64
	maxJoins      = 2
)

// operation is a transaction other than a gradient, a commitment or an aggregate: for example an approval or evidence.
// Each kind of operation has one type, in a file of its own, and one entry in the map operations. checkOperation has
// the rules that hold for all kinds: the authentication of the sender, and the nonce.
type operation interface {
	// sender returns the declared sender, and how checkSender authenticates it. The zero sender is rejected.
	sender() sender
	// check applies the rules of the kind, except the rules on the sender. An operation that check
	// accepts in the state before a block's round must also be valid in the state after the round,
	// so that a proposer can choose operations without executing the round.
	check(s *State) error
	// apply makes the change of an operation that check accepted. s must be a clone that only the caller uses.
	apply(s *State, t *tx.Tx)
	// describe returns the part of the description that depends on the kind. Describe adds the
	// sender, the subject and the id of a proposal.
	describe() Description
}

// registration is an operation that registers keys. checkIdentity checks that the keys and names are valid (M1). The
// check is expensive and does not depend on the state, so the transaction caches a success.
type registration interface {
	checkIdentity(chainID string) error
}

// enactable is an operation whose apply adds a proposal to the state. A round boundary enacts the
// proposal after it is accepted.
type enactable interface {
	operation
	// isReady reports whether a boundary may enact the operation now.
	isReady(s *State) bool
	// execute makes the change at a boundary. It first repeats the checks, because the state has changed since the
	// operation arrived. It returns the participant that the change concerns, and an error if a check fails.
	execute(s *State) (participant uint32, err error)
	// isObsolete reports whether execute can no longer succeed, even with more approvals.
	isObsolete(s *State) bool
}

// operations maps the kind of each operation to the constructor of its type.
var operations = map[tx.Kind]func(tx.Body) operation{
	tx.KindJoin:       func(b tx.Body) operation { return joinOp{b.(*tx.Join)} },
	tx.KindApprove:    func(b tx.Body) operation { return approveOp{Approve: b.(*tx.Approve)} },
	tx.KindRotate:     func(b tx.Body) operation { return rotateOp{b.(*tx.Rotate)} },
	tx.KindRestore:    func(b tx.Body) operation { return restoreOp{b.(*tx.Restore)} },
	tx.KindRemove:     func(b tx.Body) operation { return removeOp{b.(*tx.Remove)} },
	tx.KindEvidence:   func(b tx.Body) operation { return evidence{b.(*tx.Evidence)} },
	tx.KindStartEpoch: func(b tx.Body) operation { return startEpochOp{b.(*tx.StartEpoch)} },
	tx.KindUpgrade:    func(b tx.Body) operation { return upgrade{b.(*tx.Upgrade)} },
	tx.KindWithdraw:   func(b tx.Body) operation { return withdrawOp{b.(*tx.Withdraw)} },
	tx.KindPresent:    func(b tx.Body) operation { return presentOp{b.(*tx.Present)} },
}

// operationOf returns the operation of kind k with the given decoded body. It fails if k is not the
// kind of an operation.
func operationOf(k tx.Kind, body tx.Body) (operation, error) {
	of, ok := operations[k]
	if !ok {
		return nil, fmt.Errorf("%w: a %s is no operation", ErrOrder, k)
	}
	return of(body), nil
}

// operationIn returns the operation of a transaction. An approve decodes its Join through the
// transaction, which caches the decoded Join.
func operationIn(t *tx.Tx) (operation, error) {
	op, err := operationOf(t.Kind(), t.Body)
	if a, ok := op.(approveOp); ok {
		a.decodeJoin = t.CarriedJoin
		op = a
	}
	return op, err
}

// authMethod says how the sender of an operation is authenticated.
type authMethod int

const (
	authNone     authMethod = iota // the operation declares no sender, and is rejected
	authMember                     // signed by an active participant, with a nonce that prevents a replay
	authApproval                   // signed by an active participant, with its revocations in place of a nonce
	authOutsider                   // signed with the key that the operation registers: check must reject a replay
	authProof                      // not signed: the operation carries a proof, which check verifies
)

// sender is the declared sender of an operation. The zero value stands for an operation that declares no sender.
type sender struct {
	auth  authMethod
	index uint32            // the sending participant; with authProof the accused participant
	nonce uint64            // the operation's nonce with authMember; 0 with other methods
	key   ed25519.PublicKey // with authOutsider the signing key that the operation registers; nil with other methods
	// subject names the participant (in decimal digits), the proposal (by its id) or the key that the operation concerns.
	// It may be empty. The pool holds one operation of each sender, kind and subject.
	subject string
}

func memberSender(index uint32, nonce uint64) sender {
	return sender{auth: authMember, index: index, nonce: nonce}
}

// memberAbout returns the sender of a member's operation that concerns the participant subject.
func memberAbout(subject, index uint32, nonce uint64) sender {
	return sender{auth: authMember, index: index, nonce: nonce, subject: strconv.FormatUint(uint64(subject), 10)}
}

func approverSender(index uint32, proposal []byte) sender {
	return sender{auth: authApproval, index: index, subject: string(proposal)}
}

func outsiderSender(key ed25519.PublicKey) sender {
	return sender{auth: authOutsider, key: key, subject: string(key)}
}

func proofAgainst(index uint32) sender { return sender{auth: authProof, index: index} }

// checkOperation applies all rules to one operation.
func (s *State) checkOperation(t *tx.Tx) error {
	op, err := operationIn(t)
	if err != nil {
		return err
	}
	if err := s.checkSender(t, op.sender()); err != nil {
		return err
	}
	if r, ok := op.(registration); ok {
		if err := t.CheckOnce(s.ChainID, r.checkIdentity); err != nil {
			return err
		}
	}
	if err := op.check(s); err != nil {
		return err
	}
	if id := t.ID(); s.proposal(id[:]) != nil {
		return fmt.Errorf("%w: %X waits already", ErrProposal, id)
	}
	return nil
}

// checkSender checks that the sender of an operation is known (M3), that its signature is valid
// (M4), and that its nonce is new (M8).
func (s *State) checkSender(t *tx.Tx, from sender) error {
	switch from.auth {
	case authMember, authApproval:
		p := s.participant(from.index)
		if p == nil {
			return fmt.Errorf("%w: participant %d, %d are registered", ErrSender, from.index, len(s.Participants))
		}
		if err := t.Verify(s.ChainID, p.PubKey); err != nil {
			return fmt.Errorf("%w: %w", ErrOperationSigned, err)
		}
		if from.auth == authMember && from.nonce <= p.Nonce {
			return fmt.Errorf("%w: nonce %d of participant %d, want above %d", ErrNonce, from.nonce, p.Index, p.Nonce)
		}
		return nil
	case authOutsider:
		if n := len(from.key); n != ed25519.PublicKeySize {
			return fmt.Errorf("%w: pub_key has %d bytes, want %d", ErrIdentity, n, ed25519.PublicKeySize)
		}
		if err := t.Verify(s.ChainID, from.key); err != nil {
			return fmt.Errorf("%w: %w", ErrOperationSigned, err)
		}
		return nil
	case authProof:
		if !t.Kind().Signed() {
			return nil
		}
	case authNone:
	}
	return fmt.Errorf("%w: nobody vouches for a %s", ErrSender, t.Kind())
}

// applyOperation applies an operation that checkOperation accepted. s must be a clone that only the caller uses.
func (s *State) applyOperation(t *tx.Tx) {
	op, err := operationIn(t)
	if err != nil {
		panic(err) // checkOperation has accepted this transaction
	}
	if from := op.sender(); from.auth == authMember {
		s.Participants[from.index].Nonce = from.nonce
	}
	op.apply(s, t)
}

// executeOperations checks and applies a block's operations in order, each in the state that the
// previous operation left.
func (s *State) executeOperations(txs []*tx.Tx) error {
	if len(txs) > maxOperations {
		return fmt.Errorf("%w: %d, at most %d", ErrTooMany, len(txs), maxOperations)
	}
	joins := 0
	for i, t := range txs {
		if t.Kind() == tx.KindJoin {
			joins++
		}
		if joins > maxJoins {
			return fmt.Errorf("%w: %d joins, at most %d", ErrTooMany, joins, maxJoins)
		}
		if err := s.checkOperation(t); err != nil {
			return fmt.Errorf("operation %d: %w", i, err)
		}
		s.applyOperation(t)
	}
	return nil
}
