package tx

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"fmt"

	"github.com/spdl/spdl/app/leader"
)

const domain = "spdl/tx/v1"

// signBytes returns the 32 bytes that a participant signs: the hash of the domain, the chain's id,
// the kind and the content hash.
func signBytes(chainID string, k Kind, content [32]byte) []byte {
	h := sha256.New()
	h.Write([]byte(domain))
	h.Write(binary.BigEndian.AppendUint32(nil, uint32(len(chainID))))
	h.Write([]byte(chainID))
	h.Write(binary.BigEndian.AppendUint32(nil, uint32(k)))
	h.Write(content[:])
	return h.Sum(nil)
}

// ID returns the id of the proposal that the transaction makes. Approvals name the proposal by this id.
func (t *Tx) ID() [32]byte { return idOf(t.kind, t.Content) }

// IDOf returns the id of a proposal with the given kind and content: SHA-256 of the kind, as 4 bytes in big endian, and
// the content hash. Because the kind is part of the input, equal contents of two kinds have different ids.
func IDOf(kind Kind, content []byte) [32]byte { return idOf(kind, sha256.Sum256(content)) }

func idOf(kind Kind, content [32]byte) [32]byte {
	return sha256.Sum256(append(binary.BigEndian.AppendUint32(nil, uint32(kind)), content[:]...))
}

// Sign wraps body in a transaction for the chain chainID, and signs the transaction with key. Evidence is not signed;
// for evidence, key is nil. Sign fails with ErrUnknownKind if no kind has this type of body.
func Sign(chainID string, body Body, key ed25519.PrivateKey) (*Tx, error) {
	kind := KindOf(body)
	if kind == KindNone {
		return nil, fmt.Errorf("%w: %T is the content of none", ErrUnknownKind, body)
	}
	content, err := body.Marshal()
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", kind, err)
	}
	e := Envelope{Kind: uint32(kind), Content: content}
	if kind.Signed() {
		e.Signature = ed25519.Sign(key, signBytes(chainID, kind, sha256.Sum256(header(body, content))))
	}
	raw, err := e.Marshal()
	if err != nil {
		return nil, fmt.Errorf("encode envelope: %w", err)
	}
	t := wrap(raw, kind, body, e)
	if kind.Signed() {
		t.signer.Store(&signer{chainID, string(key.Public().(ed25519.PublicKey))})
	}
	return t, nil
}

// Verify checks the signature against an ed25519 public key. The transaction caches a success, so
// that each Tx value is verified only once.
func (t *Tx) Verify(chainID string, pub ed25519.PublicKey) error {
	who := signer{chainID, string(pub)}
	if known := t.signer.Load(); known != nil && *known == who {
		return nil
	}
	if err := verify(chainID, pub, t.kind, t.Content, t.Signature); err != nil {
		return err
	}
	t.signer.Store(&who)
	return nil
}

// CheckOnce runs a check that depends only on the content and the chain's id. The transaction
// caches a success, so that the check runs only once for each Tx value.
func (t *Tx) CheckOnce(chainID string, check func(chainID string) error) error {
	if known := t.checkedChain.Load(); known != nil && *known == chainID {
		return nil
	}
	if err := check(chainID); err != nil {
		return err
	}
	t.checkedChain.Store(&chainID)
	return nil
}

// CarriedJoin decodes the Join that an Approve carries. The Approve caches the decoded Join, which in turn caches its
// own successful checks. CarriedJoin fails if t is not an Approve or carries no valid Join.
func (t *Tx) CarriedJoin() (*Tx, error) {
	if known := t.carriedJoin.Load(); known != nil {
		return known, nil
	}
	a, ok := t.Body.(*Approve)
	if !ok {
		return nil, fmt.Errorf("%w: a %s carries no join", ErrMalformed, t.kind)
	}
	join, err := Decode(a.Join)
	if err == nil {
		t.carriedJoin.Store(join)
	}
	return join, err
}

func verify(chainID string, pub ed25519.PublicKey, k Kind, content [32]byte, signature []byte) error {
	if len(pub) != ed25519.PublicKeySize {
		return fmt.Errorf("%w: public key has %d bytes, want %d", ErrSignature, len(pub), ed25519.PublicKeySize)
	}
	if !signatureHolds(pub, signBytes(chainID, k, content), signature) {
		return fmt.Errorf("%w on %s %X", ErrSignature, k, content[:8])
	}
	return nil
}

// vrfProofOf returns the VRF proof of a gradient or a commitment.
func (t *Tx) vrfProofOf() []byte {
	if t.Commit != nil {
		return t.Commit.VrfProof
	}
	return t.Gradient.VrfProof
}

// VerifyVRF verifies the VRF proof of a gradient or a commitment and returns the VRF output. The
// transaction caches a success.
func (t *Tx) VerifyVRF(vrfKey, input []byte) (leader.Output, error) {
	asked := string(vrfKey) + string(input)
	if known := t.vrfProof.Load(); known != nil && known.question == asked {
		return known.output, nil
	}
	out, err := leader.Verify(vrfKey, input, t.vrfProofOf())
	if err == nil {
		t.vrfProof.Store(&vrfProof{asked, out})
	}
	return out, err
}

// Vouch caches the VRF output of a gradient or a commitment without verifying the proof, for a caller
// that has made the proof with the key.
func (t *Tx) Vouch(vrfKey, input []byte) {
	if out, ok := leader.OutputOf(t.vrfProofOf()); ok {
		t.vrfProof.Store(&vrfProof{string(vrfKey) + string(input), out})
	}
}
