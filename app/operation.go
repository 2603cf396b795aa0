package app

import (
	"crypto/ed25519"
	"fmt"
	"strconv"

	"github.com/spdl/spdl/app/tx"
)

// Bounds of a block. A Join costs a stranger nothing, and all nodes the verification of three
// signatures and a place in the store; an Approve can carry the Join of a newcomer whom members know.
const (
	maxOperations = 64
	maxJoins      = 2
)

// operation is a transaction beside a round's own, of one kind. A kind is one
// file and one row of the table operations. What all kinds share, who vouches
// for an operation and that nobody sends it again, is checkOperation's.
type operation interface {
	// sender returns who vouches for the operation. The zero sender is refused.
	sender() sender
	// check applies the rules of the kind but those on its sender. What it
	// accepts before the round that closes in the same block it accepts after
	// it, so that a proposer need not close the round to choose operations.
	check(s *State) error
	// apply makes a change that check accepted, in a state that is not
	// published yet.
	apply(s *State, t *tx.Tx)
	// describe returns what only the kind knows of itself. Describe adds the
	// sender, the subject and the id of a proposal.
	describe() Description
}

// registration is an operation with rules that no state decides: M1, which is expensive to judge.
// What they accept is remembered on the transaction.
type registration interface {
	checkIdentity(chainID string) error
}

// enactable is an operation whose apply makes it a governance proposal: it
// waits in the state until it is accepted, and is enacted at a boundary.
type enactable interface {
	operation
	// ripe reports whether it may be enacted at a boundary now.
	ripe(s *State) bool
	// enact makes the change. It judges the operation again, because the state
	// is another by now, and returns the participant that it is about.
	enact(s *State) (participant uint32, err error)
	// stale reports whether no approval can make it possible any more.
	stale(s *State) bool
}

// operations holds every kind that is not a round's own.
var operations = map[tx.Kind]func(tx.Body) operation{
	tx.KindJoin:       func(b tx.Body) operation { return join{b.(*tx.Join)} },
	tx.KindApprove:    func(b tx.Body) operation { return approve{Approve: b.(*tx.Approve)} },
	tx.KindRotate:     func(b tx.Body) operation { return rotate{b.(*tx.Rotate)} },
	tx.KindRestore:    func(b tx.Body) operation { return restore{b.(*tx.Restore)} },
	tx.KindRemove:     func(b tx.Body) operation { return remove{b.(*tx.Remove)} },
	tx.KindEvidence:   func(b tx.Body) operation { return evidence{b.(*tx.Evidence)} },
	tx.KindStartEpoch: func(b tx.Body) operation { return startEpoch{b.(*tx.StartEpoch)} },
	tx.KindUpgrade:    func(b tx.Body) operation { return upgrade{b.(*tx.Upgrade)} },
}

// operationOf returns the operation of a kind with a body.
func operationOf(k tx.Kind, body tx.Body) (operation, error) {
	of, ok := operations[k]
	if !ok {
		return nil, fmt.Errorf("%w: a %s is no operation", ErrOrder, k)
	}
	return of(body), nil
}

// operationIn returns the operation of a transaction, which remembers what was found of it.
func operationIn(t *tx.Tx) (operation, error) {
	op, err := operationOf(t.Kind(), t.Body)
	if a, ok := op.(approve); ok {
		a.carried = t.Carried
		op = a
	}
	return op, err
}

// voucher is how an operation is vouched for.
type voucher int

const (
	byNobody   voucher = iota // no sender is declared: refused
	byMember                  // signed by an active participant; its nonce keeps it from being sent again
	byVoter                   // signed by an active participant; without a nonce, so check must refuse a second one
	byOutsider                // signed with a key of its own, which it registers; check must refuse a second one
	byProof                   // not signed: it carries its proof, which check verifies
)

// sender is who vouches for an operation. The zero value vouches for nothing.
type sender struct {
	by      voucher
	index   uint32            // the participant; by proof the one that the proof is against
	nonce   uint64            // of a member
	key     ed25519.PublicKey // of an outsider
	subject string            // what the operation is about: a pool holds one of a sender, kind and subject
}

func member(index uint32, nonce uint64) sender {
	return sender{by: byMember, index: index, nonce: nonce}
}

// memberAbout returns a member's operation about a participant.
func memberAbout(subject, index uint32, nonce uint64) sender {
	return sender{by: byMember, index: index, nonce: nonce, subject: strconv.FormatUint(uint64(subject), 10)}
}

func voter(index uint32, proposal []byte) sender {
	return sender{by: byVoter, index: index, subject: string(proposal)}
}

func outsider(key ed25519.PublicKey) sender {
	return sender{by: byOutsider, key: key, subject: string(key)}
}

func proofAgainst(index uint32) sender { return sender{by: byProof, index: index} }

// checkOperation judges one operation.
func (s *State) checkOperation(t *tx.Tx) error {
	op, err := operationIn(t)
	if err != nil {
		return err
	}
	if err := s.checkSender(t, op.sender()); err != nil {
		return err
	}
	if r, ok := op.(registration); ok {
		if err := t.Once(s.ChainID, r.checkIdentity); err != nil {
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

// checkSender applies M3, M4 and M8 to the sender of an operation.
func (s *State) checkSender(t *tx.Tx, from sender) error {
	switch from.by {
	case byMember, byVoter:
		p := s.participant(from.index)
		if p == nil {
			return fmt.Errorf("%w: participant %d, %d are registered", ErrSender, from.index, len(s.Participants))
		}
		if err := t.Verify(s.ChainID, p.PubKey); err != nil {
			return fmt.Errorf("%w: %w", ErrOperationSigned, err)
		}
		if from.by == byMember && from.nonce <= p.Nonce {
			return fmt.Errorf("%w: nonce %d of participant %d, want above %d", ErrNonce, from.nonce, p.Index, p.Nonce)
		}
		return nil
	case byOutsider:
		if n := len(from.key); n != ed25519.PublicKeySize {
			return fmt.Errorf("%w: pub_key has %d bytes, want %d", ErrIdentity, n, ed25519.PublicKeySize)
		}
		if err := t.Verify(s.ChainID, from.key); err != nil {
			return fmt.Errorf("%w: %w", ErrOperationSigned, err)
		}
		return nil
	case byProof:
		if !t.Kind().Signed() {
			return nil
		}
	case byNobody:
	}
	return fmt.Errorf("%w: nobody vouches for a %s", ErrSender, t.Kind())
}

// applyOperation applies one that checkOperation accepted. The state is not
// published yet.
func (s *State) applyOperation(t *tx.Tx) {
	op, err := operationIn(t)
	if err != nil {
		panic(err) // checkOperation has seen it
	}
	if from := op.sender(); from.by == byMember {
		s.Participants[from.index].Nonce = from.nonce
	}
	op.apply(s, t)
}

// executeOperations applies the transactions beside a round's, each to the
// state that the ones before it left.
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
