package tx

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync/atomic"
)

// What Decode and Verify refuse (app/SPEC.md, T1 to T3).
var (
	ErrMalformed    = errors.New("malformed transaction")
	ErrNotCanonical = errors.New("transaction is not in canonical form")
	ErrUnknownKind  = errors.New("unknown kind of transaction")
	ErrSignature    = errors.New("invalid signature")
)

// Tx is a decoded transaction. It is not to be changed, and safe for
// concurrent use.
type Tx struct {
	// Raw is the transaction as broadcast.
	Raw []byte
	// Hash is the SHA-256 of Raw, CometBFT's transaction hash.
	Hash [32]byte
	// Content is the hash that the signature covers: for a gradient that of
	// its header, else that of the envelope's content.
	Content [32]byte
	// Gradient and Aggregate are the body; one of them is set.
	Gradient  *Gradient
	Aggregate *Aggregate

	kind      Kind
	signature []byte
	verified  atomic.Pointer[signer] // whom Verify found last; the pool's transactions are judged again in their block
}

// signer is a key on a chain.
type signer struct{ chainID, pub string }

// Kind returns the kind of the transaction.
func (t *Tx) Kind() Kind { return t.kind }

// Decode reads a transaction of any origin. It checks form alone: the
// canonical encoding, a known kind, a signature of 64 bytes. The returned
// transaction keeps raw.
func Decode(raw []byte) (*Tx, error) {
	var e Envelope
	if err := decodeCanonical(&e, raw); err != nil {
		return nil, fmt.Errorf("envelope: %w", err)
	}
	body := newBody(Kind(e.Kind))
	if body == nil {
		return nil, fmt.Errorf("%w: %d", ErrUnknownKind, e.Kind)
	}
	if len(e.Signature) != ed25519.SignatureSize {
		return nil, fmt.Errorf("%w: signature has %d bytes, want %d", ErrMalformed, len(e.Signature), ed25519.SignatureSize)
	}
	if err := decodeCanonical(body, e.Content); err != nil {
		return nil, fmt.Errorf("%s: %w", Kind(e.Kind), err)
	}
	return wrap(raw, body, e), nil
}

func wrap(raw []byte, body Body, e Envelope) *Tx {
	t := &Tx{Raw: raw, Hash: sha256.Sum256(raw), Content: body.contentHash(e.Content), kind: body.kind(), signature: e.Signature}
	switch b := body.(type) {
	case *Gradient:
		t.Gradient = b
	case *Aggregate:
		t.Aggregate = b
	}
	return t
}

type message interface {
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
}

// decodeCanonical fills m from data and refuses any other encoding than the
// one Marshal gives: fields out of order or twice, unknown fields, padded
// varints, explicit zero values.
func decodeCanonical(m message, data []byte) error {
	if err := m.Unmarshal(data); err != nil {
		return fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	again, err := m.Marshal()
	if err != nil {
		return fmt.Errorf("%w: %w", ErrMalformed, err)
	}
	if !bytes.Equal(again, data) {
		return fmt.Errorf("%w: %d bytes given, %d when encoded again", ErrNotCanonical, len(data), len(again))
	}
	return nil
}
