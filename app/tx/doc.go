// Package tx is the wire format of the chain: the envelope of every transaction, its canonical
// encoding and its signature.
//
// A transaction is an Envelope with a kind, a content and a signature. The content is the protobuf
// encoding of the kind's message. Envelope and content must be canonical, so that one meaning has
// one hash: Decode encodes its result again, and rejects the transaction if the bytes differ.
//
// A participant signs SHA-256("spdl/tx/v1" || len(chain id) || chain id || kind || content hash) with ed25519 (RFC
// 8032). For a gradient or an aggregate, the content hash is the hash of a header: in the header, a hash takes the
// place of the large fields. So evidence of an equivocation does not need those fields.
package tx
