package tx

import (
	voi "github.com/oasisprotocol/curve25519-voi/primitives/ed25519"
	"github.com/oasisprotocol/curve25519-voi/primitives/ed25519/extra/cache"
)

// maxExpanded is the max number of public keys that are cached in decoded form: the keys of the
// largest consortium (gradients.MaxParticipants), and the same number of replaced keys.
const maxExpanded = 1 << 13

// verifier verifies a signature in about two thirds of the time of crypto/ed25519
// (BenchmarkVerify), because it computes on the curve with AVX2 and caches decoded keys. It accepts
// the same signatures as crypto/ed25519 (app/SPEC.md, T3).
var verifier = cache.NewVerifier(cache.NewLRUCache(maxExpanded))

var rfc8032 = &voi.Options{Verify: voi.VerifyOptionsStdLib}

// signatureHolds reports whether a signature over a message is valid. The key has 32 bytes.
func signatureHolds(pub, message, signature []byte) bool {
	return verifier.VerifyWithOptions(pub, message, signature, rfc8032)
}
