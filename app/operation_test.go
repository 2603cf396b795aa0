package app

import (
	"crypto/ed25519"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/tx"
)

// TestEveryKindIsAnOperationOrARounds: each kind of transaction is in the table operations or
// belongs to a round. A forgotten kind would be rejected without a reason.
func TestEveryKindIsAnOperationOrARounds(t *testing.T) {
	for number := range tx.Kind_name {
		kind := tx.Kind(number)
		_, isOperation := operations[kind]
		body, err := tx.DecodeBody(kind, nil)
		if kind == tx.KindNone {
			require.Error(t, err)
			require.False(t, isOperation)
			continue
		}
		require.NoError(t, err)
		signed, err := tx.Sign("c", body, make(ed25519.PrivateKey, ed25519.PrivateKeySize))
		require.NoError(t, err)
		_, ofRound := tx.PlaceOf(signed)
		require.NotEqual(t, ofRound, isOperation, "%s is of a round: %t, an operation: %t", kind, ofRound, isOperation)
		if !isOperation {
			continue
		}
		op, err := operationOf(kind, body)
		require.NoError(t, err)
		require.NotEqual(t, authNone, op.sender().auth, "%s declares no sender", kind)
		require.Equal(t, kind.Signed(), op.sender().auth != authProof, "%s is signed if it does not prove itself", kind)
	}
	require.Len(t, operations, len(tx.Kind_name)-4, "all kinds but none, gradient, aggregate and commit")
}

// toy is an operation that accepts everything from a sender.
type toy struct{ from sender }

func (o toy) sender() sender                 { return o.from }
func (o toy) check(*State) error             { return nil }
func (o toy) apply(s *State, t *tx.Tx)       { s.addRequest(o, t) }
func (o toy) describe() Description          { return Description{} }
func (o toy) isReady(*State) bool            { return false }
func (o toy) execute(*State) (uint32, error) { return 0, nil }
func (o toy) isObsolete(*State) bool         { return false }
func (o toy) of(tx.Body) operation           { return o }
func (o toy) admit(s *State, t *tx.Tx) error { operations[t.Kind()] = o.of; return s.checkOperation(t) }

// TestOperationsFailClosed: an operation that declares no sender is rejected: it cannot pass
// unsigned, or be replayed.
func TestOperationsFailClosed(t *testing.T) {
	honest := operations[tx.KindRemove]
	t.Cleanup(func() { operations[tx.KindRemove] = honest })
	pub, key, err := ed25519.GenerateKey(nil)
	require.NoError(t, err)
	s := &State{ChainID: "c", Participants: []Participant{{PubKey: pub, Active: true}}}
	x, err := tx.Sign("c", &tx.Remove{}, key)
	require.NoError(t, err)

	require.NoError(t, toy{memberSender(0, 1)}.admit(s, x), "a member with a nonce passes")
	require.ErrorIs(t, toy{}.admit(s, x), ErrSender, "no sender")
	require.ErrorIs(t, toy{memberSender(0, 0)}.admit(s, x), ErrNonce, "no nonce")
	require.ErrorIs(t, toy{proofAgainst(0)}.admit(s, x), ErrSender, "a signature that nobody would verify")
	require.ErrorIs(t, toy{outsiderSender(nil)}.admit(s, x), ErrIdentity, "no key")
	require.ErrorIs(t, toy{approverSender(1, nil)}.admit(s, x), ErrSender, "nobody's approval")
	delete(operations, tx.KindRemove)
	require.ErrorIs(t, s.checkOperation(x), ErrOrder, "not in the table")

	require.NoError(t, toy{memberSender(0, 1)}.admit(s, x))
	s.applyOperation(x)
	require.ErrorIs(t, toy{memberSender(0, 1)}.admit(s, x), ErrNonce, "the nonce was recorded")
	require.ErrorIs(t, toy{approverSender(0, nil)}.admit(s, x), ErrProposal, "it waits already")
}
