// Package tx is the wire format of the chain: the envelope around every
// transaction, its canonical codec and its signature.
//
// A transaction is an Envelope: kind, content, signature. The content is the
// protobuf encoding of the kind's message. Both are canonical: Decode encodes
// again what it decoded and refuses the transaction unless the bytes are
// equal, so that one meaning has one hash.
//
// A participant signs SHA-256("spdl/tx/v1" || len(chain id) || chain id ||
// kind || content hash) with ed25519 (RFC 8032). The content hash of a gradient
// and of an aggregate is that of its header, in which the payload stands by its
// own hash, so that evidence of an equivocation needs no payload.
package tx
