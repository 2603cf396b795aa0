package tx

import (
	"bytes"
	"crypto/sha256"
	"slices"
)

// Header returns the gradient's header: a copy in which the hash of the payload replaces the payload.
func (g *Gradient) Header() GradientHeader {
	payload := sha256.Sum256(g.Payload)
	return GradientHeader{Epoch: g.Epoch, Round: g.Round, Participant: g.Participant, PayloadHash: payload[:],
		VrfProof: g.VrfProof, Late: g.Late, Failed: g.Failed}
}

// Header returns the aggregate's header: epoch, round, leader, view, and the hash of the encoded aggregate.
func (a *Aggregate) Header() AggregateHeader {
	return aggregateHeader(a, mustMarshal(a))
}

func aggregateHeader(a *Aggregate, content []byte) AggregateHeader {
	hash := sha256.Sum256(content)
	return AggregateHeader{Epoch: a.Epoch, Round: a.Round, Leader: a.Leader, View: a.View, ContentHash: hash[:]}
}

// header returns the bytes whose hash the signature covers: the header of a gradient or an
// aggregate, and the whole content of any other kind.
func header(body Body, content []byte) []byte {
	switch b := body.(type) {
	case *Gradient:
		h := b.Header()
		return mustMarshal(&h)
	case *Aggregate:
		h := aggregateHeader(b, content)
		return mustMarshal(&h)
	}
	return content
}

// SameIncluded reports whether two lists name the same gradients, in the same order.
func SameIncluded(a, b []Included) bool {
	return slices.EqualFunc(a, b, func(x, y Included) bool {
		return x.Participant == y.Participant && bytes.Equal(x.Hash, y.Hash)
	})
}

// mustMarshal encodes a generated message of this package. The encoding cannot fail: these messages
// have neither pointers that may be nil nor required fields.
func mustMarshal(m interface{ Marshal() ([]byte, error) }) []byte {
	data, err := m.Marshal()
	if err != nil {
		panic(err)
	}
	return data
}
