package tx

import (
	"bytes"
	"crypto/ed25519"
	"crypto/sha256"
	"fmt"
)

// Place identifies a statement that a participant may make only once: a gradient or a commit in a
// round, or an aggregate in a view of a round.
type Place struct {
	Kind        Kind
	Epoch       uint64
	Round       uint64
	Participant uint32
	View        uint32 // the view of an aggregate; 0 for a gradient or a commit
}

// PlaceOf returns the place of a gradient, an aggregate or a commit. The second result is false for any other kind.
func PlaceOf(t *Tx) (Place, bool) {
	switch b := t.Body.(type) {
	case *Gradient:
		return Place{KindGradient, b.Epoch, b.Round, b.Participant, 0}, true
	case *Aggregate:
		return Place{KindAggregate, b.Epoch, b.Round, b.Leader, b.View}, true
	case *Commit:
		return Place{KindCommit, b.Epoch, b.Round, b.Participant, 0}, true
	}
	return Place{}, false
}

// NewEvidence returns the transaction that proves an equivocation: a and b are different statements
// for one place. The bytes of the transaction do not depend on the order of a and b. NewEvidence
// fails with ErrNoConflict if the statements are equal or for different places.
func NewEvidence(a, b *Tx) (*Tx, error) {
	first, second := header(a.Body, mustMarshal(a.Body)), header(b.Body, mustMarshal(b.Body))
	if bytes.Compare(first, second) > 0 {
		a, b, first, second = b, a, second, first
	}
	e := &Evidence{Kind: uint32(a.kind), First: first, FirstSignature: a.Signature, Second: second,
		SecondSignature: b.Signature}
	if a.kind != b.kind {
		return nil, fmt.Errorf("%w: a %s and a %s", ErrNoConflict, a.kind, b.kind)
	}
	if _, err := e.Conflict(); err != nil {
		return nil, err
	}
	return Sign("", e, nil)
}

// Conflict returns the place that both statements share. Both must be canonical headers for the
// same place, and the first must be smaller than the second in the order of bytes. If not, Conflict
// fails. It does not check the signatures; VerifyBy does.
func (e *Evidence) Conflict() (Place, error) {
	first, err := placeOfHeader(Kind(e.Kind), e.First)
	if err != nil {
		return first, err
	}
	second, err := placeOfHeader(Kind(e.Kind), e.Second)
	switch {
	case err != nil:
		return first, err
	case first != second:
		return first, fmt.Errorf("%w: one is for epoch %d round %d of participant %d, the other for epoch %d round %d of "+
			"participant %d",
			ErrNoConflict, first.Epoch, first.Round, first.Participant, second.Epoch, second.Round, second.Participant)
	case bytes.Compare(e.First, e.Second) >= 0:
		return first, fmt.Errorf("%w: the two are equal, or not in order", ErrNoConflict)
	}
	return first, nil
}

// VerifyBy checks that both statements are signed, each with one of the keys.
func (e *Evidence) VerifyBy(chainID string, keys ...ed25519.PublicKey) error {
	for i, s := range []struct{ header, signature []byte }{{e.First, e.FirstSignature}, {e.Second, e.SecondSignature}} {
		var err error
		for _, key := range keys {
			if err = verify(chainID, key, Kind(e.Kind), sha256.Sum256(s.header), s.signature); err == nil {
				break
			}
		}
		if err != nil {
			return fmt.Errorf("statement %d: %w", i+1, err)
		}
	}
	return nil
}

func placeOfHeader(k Kind, data []byte) (Place, error) {
	switch k {
	case KindGradient:
		var h GradientHeader
		err := decodeCanonical(&h, data)
		return Place{k, h.Epoch, h.Round, h.Participant, 0}, err
	case KindAggregate:
		var h AggregateHeader
		err := decodeCanonical(&h, data)
		return Place{k, h.Epoch, h.Round, h.Leader, h.View}, err
	case KindCommit: // a commitment has no header: its whole content is signed
		var c Commit
		err := decodeCanonical(&c, data)
		return Place{k, c.Epoch, c.Round, c.Participant, 0}, err
	default:
		return Place{}, fmt.Errorf("%w: evidence about a %s", ErrMalformed, k)
	}
}
