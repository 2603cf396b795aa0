package tx

import (
	"crypto/ed25519"
	"encoding/hex"
	"math/big"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// smallOrder has encodings of the eight points of small order, and non-canonical encodings of some
// of them: y of 2^255-19 or more, and an x of 0 with a sign.
var smallOrder = []string{
	"0100000000000000000000000000000000000000000000000000000000000000",
	"0100000000000000000000000000000000000000000000000000000000000080",
	"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	"ecffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
	"0000000000000000000000000000000000000000000000000000000000000000",
	"0000000000000000000000000000000000000000000000000000000000000080",
	"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac037a",
	"c7176a703d4dd84fba3c0b760d10670f2a2053fa2c39ccc64ec7fd7792ac03fa",
	"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc05",
	"26e8958fc2b227b045c3f489f2ef98f0d5dfac05d3c63339b13802886d53fc85",
	"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	"edffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
	"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff7f",
	"eeffffffffffffffffffffffffffffffffffffffffffffffffffffffffffffff",
}

// TestSignaturesAreThoseOfTheStandardLibrary: for any key, message and signature, the verdict is
// that of crypto/ed25519, which T3 defines. Points of small order make signatures valid that other
// definitions reject, and with a cofactor signatures would be valid that T3 rejects.
func TestSignaturesAreThoseOfTheStandardLibrary(t *testing.T) {
	verdicts := map[bool]int{}
	check := func(t require.TestingT, key, message, signature []byte) {
		want := ed25519.Verify(key, message, signature)
		verdicts[want]++
		for range 2 { // the second time the key is cached
			require.Equal(t, want, signatureHolds(key, message, signature), "key %X, message %X, signature %X", key, message,
				signature)
		}
	}
	scalar := func(x int64) []byte {
		b := make([]byte, 32)
		big.NewInt(x).FillBytes(b)
		slices.Reverse(b)
		return b
	}
	for _, a := range smallOrder {
		for _, r := range smallOrder {
			key, err := hex.DecodeString(a)
			require.NoError(t, err)
			start, err := hex.DecodeString(r)
			require.NoError(t, err)
			for m := range byte(16) {
				check(t, key, []byte{m}, append(start, scalar(0)...))
			}
		}
	}
	require.Greater(t, verdicts[true], 100)
	require.Greater(t, verdicts[false], 100)
	order, _ := new(big.Int).SetString("7237005577332262213973186563042994240857116359379907606001950938285454250989", 10)
	rapid.Check(t, func(t *rapid.T) {
		key := ed25519.NewKeyFromSeed(rapid.SliceOfN(rapid.Byte(), 32, 32).Draw(t, "seed"))
		pub := slices.Clone([]byte(key.Public().(ed25519.PublicKey)))
		message := rapid.SliceOf(rapid.Byte()).Draw(t, "message")
		signature := ed25519.Sign(key, message)
		check(t, pub, message, signature)
		slices.Reverse(signature[32:])
		more := new(big.Int).Add(new(big.Int).SetBytes(signature[32:]), order) // the same number modulo the order
		more.FillBytes(signature[32:])
		slices.Reverse(signature[32:])
		check(t, pub, message, signature)
		for range rapid.IntRange(1, 3).Draw(t, "flips") {
			bit := rapid.IntRange(0, 8*64-1).Draw(t, "bit")
			signature[bit/8] ^= 1 << (bit % 8)
		}
		check(t, pub, message, signature)
		pub[rapid.IntRange(0, 31).Draw(t, "byte")] ^= rapid.Byte().Draw(t, "by")
		check(t, pub, message, signature)
	})
}

func BenchmarkVerify(b *testing.B) {
	_, key, err := ed25519.GenerateKey(nil)
	require.NoError(b, err)
	pub, message := key.Public().(ed25519.PublicKey), make([]byte, 32)
	signature := ed25519.Sign(key, message)
	b.Run("crypto", func(b *testing.B) {
		for b.Loop() {
			ed25519.Verify(pub, message, signature)
		}
	})
	b.Run("here", func(b *testing.B) {
		for b.Loop() {
			signatureHolds(pub, message, signature)
		}
	})
}
