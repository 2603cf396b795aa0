package leader

import (
	"crypto/ed25519"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/oasisprotocol/curve25519-voi/curve"
	voi "github.com/oasisprotocol/curve25519-voi/primitives/ed25519"
	"github.com/oasisprotocol/curve25519-voi/primitives/ed25519/extra/ecvrf"
)

// These are the sizes of a public key, a VRF proof and a VRF output, in bytes.
const (
	KeySize    = ed25519.PublicKeySize
	ProofSize  = ecvrf.ProofSize
	OutputSize = ecvrf.OutputSize
)

// ErrKey is wrapped by every error about a key, and ErrProof by every error about a VRF proof.
var (
	ErrKey   = errors.New("invalid key")
	ErrProof = errors.New("invalid VRF proof")
)

// Output is a VRF output, the paper's h. Outputs are compared as big-endian numbers.
type Output [OutputSize]byte

// Input returns the VRF input of a round: alpha of RFC 9381. The input names the chain and the
// round, so a proof over it is not valid for another round.
func Input(chainID string, epoch, round uint64, seed []byte) []byte {
	alpha := Prefix("spdl/draw/v2", chainID)
	alpha = binary.BigEndian.AppendUint64(alpha, epoch)
	alpha = binary.BigEndian.AppendUint64(alpha, round)
	return append(alpha, seed...)
}

// PossessionInput returns the VRF input for the proof of possession of a new VRF key. The input
// names the chain and the participant's signing key.
func PossessionInput(chainID string, signingKey []byte) []byte {
	return append(Prefix("spdl/vrf-key/v1", chainID), signingKey...)
}

// Prefix returns the first bytes of every signed or proven input except a transaction's: the
// domain, a zero byte, the length of the chain's id in 4 bytes big endian, and the chain's id. The
// prefix makes a signature or proof valid for only one purpose and one chain.
func Prefix(domain, chainID string) []byte {
	b := append([]byte(domain), 0)
	b = binary.BigEndian.AppendUint32(b, uint32(len(chainID)))
	return append(b, chainID...)
}

// Prove returns the key's VRF proof, pi, over an input.
func Prove(key ed25519.PrivateKey, input []byte) []byte {
	return ecvrf.Prove(voi.PrivateKey(key), input)
}

// OutputOf returns the VRF output of a proof without verifying the proof. Only the maker of the
// proof may rely on it. ok is false if the proof is not well-formed.
func OutputOf(proof []byte) (out Output, ok bool) {
	beta, err := ecvrf.ProofToHash(proof)
	if err != nil {
		return out, false
	}
	return Output(beta), true
}

// Verify verifies a VRF proof and returns the VRF output. The error wraps ErrKey or ErrProof.
func Verify(key, input, proof []byte) (out Output, err error) {
	if len(key) != KeySize {
		return out, fmt.Errorf("%w: %d bytes, want %d", ErrKey, len(key), KeySize)
	}
	if len(proof) != ProofSize {
		return out, fmt.Errorf("%w: %d bytes, want %d", ErrProof, len(proof), ProofSize)
	}
	ok, beta := ecvrf.Verify(key, proof, input)
	if !ok {
		return out, fmt.Errorf("%w: %X does not prove an output of key %X", ErrProof, proof[:8], key[:8])
	}
	return Output(beta), nil
}

// CheckKey accepts only the canonical encoding of a point of the prime-order group other than the
// neutral element. The error wraps ErrKey. The check is stricter than RFC 9381, section 5.4.5,
// because two keys that differ by a point of small order have equal outputs whenever the challenge
// is a multiple of 8. Without the check, their owners could force a tie after a few tries.
func CheckKey(key []byte) error {
	var compressed curve.CompressedEdwardsY
	if _, err := compressed.SetBytes(key); err != nil {
		return fmt.Errorf("%w: %d bytes, want %d", ErrKey, len(key), KeySize)
	}
	var point curve.EdwardsPoint
	if !compressed.IsCanonicalVartime() {
		return fmt.Errorf("%w: %X is not canonical", ErrKey, key)
	}
	if _, err := point.SetCompressedY(&compressed); err != nil {
		return fmt.Errorf("%w: %X is not on the curve", ErrKey, key)
	}
	if point.IsIdentity() || !point.IsTorsionFree() {
		return fmt.Errorf("%w: %X is not in the group of prime order", ErrKey, key)
	}
	return nil
}
