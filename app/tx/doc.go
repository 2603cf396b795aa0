// Package tx is the wire format of the chain: the envelope around every transaction, its canonical
// codec and its signature.
//
// A transaction is an Envelope: kind, content, signature. The content is the protobuf encoding of
// the kind's message. Both are canonical: Decode encodes its result again and rejects the
// transaction unless the bytes are equal, so that one meaning has one hash.
//
// A participant signs SHA-256("spdl/tx/v1" || len(chain id) || chain id || kind || content hash)
// with ed25519 (RFC 8032). The content hash of a gradient or an aggregate is the hash of its
// header, which has a hash in place of the payload, so that evidence of an equivocation needs no
// payload.
package tx
