package tx

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/spdl/spdl/app/leader"
	"github.com/spdl/spdl/gradients"
)

// Every error of this package about a transaction wraps one of these errors (app/SPEC.md, T1 to T3 and E1).
var (
	ErrMalformed    = errors.New("malformed transaction")
	ErrNotCanonical = errors.New("transaction is not in canonical form")
	ErrUnknownKind  = errors.New("unknown kind of transaction")
	ErrSignature    = errors.New("invalid signature")
	ErrNoConflict   = errors.New("statements do not contradict each other")
)

// Tx is a decoded transaction. It is immutable except for its caches, and safe for concurrent use.
type Tx struct {
	// Raw is the transaction as broadcast.
	Raw []byte
	// Hash is the SHA-256 of Raw, CometBFT's transaction hash.
	Hash [32]byte
	// Content is the hash that the signature covers. For a gradient or an aggregate it is the hash
	// of the header, for all other kinds the hash of the envelope's content.
	Content [32]byte
	// Signature is the sender's signature, empty for evidence.
	Signature []byte
	// Body is the decoded content. If Body is a gradient, an aggregate or a commit, it is also in
	// the field Gradient, Aggregate or Commit; the other two fields are nil.
	Body      Body
	Gradient  *Gradient
	Aggregate *Aggregate
	Commit    *Commit

	kind         Kind
	signer       atomic.Pointer[signer]           // the key and chain of the last successful Verify; nil before
	vrfProof     atomic.Pointer[vrfProof]         // the last successful VerifyVRF; nil before
	vector       atomic.Pointer[gradients.Vector] // the last successful Vector; nil before
	checkedChain atomic.Pointer[string]           // the id of the chain of the last successful CheckOnce; nil before
	carriedJoin  atomic.Pointer[Tx]               // the result of CarriedJoin; nil before
}

// signer holds a public key for which a signature was verified, and the chain id of that signature.
type signer struct{ chainID, pub string }

// vrfProof holds the output of a verified VRF proof. question is the VRF key followed by the input
// for which the proof was verified.
type vrfProof struct {
	question string
	output   leader.Output
}

// Kind returns the kind of the transaction.
func (t *Tx) Kind() Kind { return t.kind }

// Decode decodes a transaction from an untrusted source. It checks only the form: the canonical
// encoding, a known kind, and the length of the signature (64 bytes, 0 for evidence). The returned
// transaction shares the memory of raw, so the caller must not change raw later.
func Decode(raw []byte) (*Tx, error) {
	var e Envelope
	content, rest, ok := extractField(raw, envelopeContent)
	if !ok {
		rest = raw
	}
	if err := decodeCanonical(&e, rest); err != nil {
		return nil, fmt.Errorf("envelope: %w", err)
	}
	if ok {
		e.Content = content
	}
	kind := Kind(e.Kind)
	body, err := DecodeBody(kind, e.Content)
	if err != nil {
		return nil, err
	}
	want := 0
	if kind.Signed() {
		want = ed25519.SignatureSize
	}
	if len(e.Signature) != want {
		return nil, fmt.Errorf("%w: signature has %d bytes, want %d", ErrMalformed, len(e.Signature), want)
	}
	return wrap(raw, kind, body, e), nil
}

func wrap(raw []byte, kind Kind, body Body, e Envelope) *Tx {
	t := &Tx{
		Raw: raw, Hash: sha256.Sum256(raw), Content: sha256.Sum256(header(body, e.Content)),
		Signature: e.Signature, Body: body, kind: kind,
	}
	t.Gradient, _ = body.(*Gradient)
	t.Aggregate, _ = body.(*Aggregate)
	t.Commit, _ = body.(*Commit)
	return t
}

type message interface {
	Marshal() ([]byte, error)
	Unmarshal([]byte) error
}

// decodeCanonical decodes data into m and rejects every encoding that differs from the encoding by
// Marshal: fields out of order or twice, unknown fields, padded varints and explicit zero values.
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
