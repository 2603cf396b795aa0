package tx

import (
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
)

const domain = "spdl/tx/v1"

// signBytes is what a participant signs: 32 bytes that bind the domain, the
// chain, the kind and the content.
func signBytes(chainID string, k Kind, content [32]byte) []byte {
	h := sha256.New()
	h.Write([]byte(domain))
	h.Write(binary.BigEndian.AppendUint32(nil, uint32(len(chainID))))
	h.Write([]byte(chainID))
	h.Write(binary.BigEndian.AppendUint32(nil, uint32(k)))
	h.Write(content[:])
	return h.Sum(nil)
}

// Sign makes the transaction of body on the chain, signed with key.
func Sign(chainID string, body Body, key ed25519.PrivateKey) (*Tx, error) {
	content, err := body.Marshal()
	if err != nil {
		return nil, fmt.Errorf("encode %s: %w", body.kind(), err)
	}
	e := Envelope{
		Kind:      uint32(body.kind()),
		Content:   content,
		Signature: ed25519.Sign(key, signBytes(chainID, body.kind(), body.contentHash(content))),
	}
	raw, err := e.Marshal()
	if err != nil {
		return nil, fmt.Errorf("encode envelope: %w", err)
	}
	return wrap(raw, body, e), nil
}

// Verify checks the signature against the signer's ed25519 public key. A
// success is remembered, so that the same value is verified once.
func (t *Tx) Verify(chainID string, pub ed25519.PublicKey) error {
	if len(pub) != ed25519.PublicKeySize {
		return fmt.Errorf("%w: public key has %d bytes, want %d", ErrSignature, len(pub), ed25519.PublicKeySize)
	}
	who := signer{chainID, string(pub)}
	if known := t.verified.Load(); known != nil && *known == who {
		return nil
	}
	if !ed25519.Verify(pub, signBytes(chainID, t.kind, t.Content), t.signature) {
		return fmt.Errorf("%w on %s %X", ErrSignature, t.kind, t.Hash[:8])
	}
	t.verified.Store(&who)
	return nil
}

// Header returns the gradient's header: the gradient with its payload by hash.
func (g *Gradient) Header() GradientHeader {
	payload := sha256.Sum256(g.Payload)
	return GradientHeader{Epoch: g.Epoch, Round: g.Round, Participant: g.Participant, PayloadHash: payload[:], VrfProof: g.VrfProof}
}

func (g *Gradient) contentHash([]byte) [32]byte {
	h := g.Header()
	data, err := h.Marshal()
	if err != nil { // a message without pointers or required fields encodes always
		panic(err)
	}
	return sha256.Sum256(data)
}

func (*Aggregate) contentHash(content []byte) [32]byte { return sha256.Sum256(content) }
