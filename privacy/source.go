package privacy

import (
	cryptorand "crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"math/rand/v2"
)

// NormalSource supplies the noise of a mechanism. The guarantee rests on it: draws must be
// independent N(0, 1), to the precision of float64, and unpredictable to everybody but the worker.
type NormalSource interface {
	// Normal fills dst with independent draws.
	Normal(dst []float64)
}

// UniformSource supplies the coins of secret batches: independent uniform 64-bit words,
// unpredictable to everybody but the worker.
type UniformSource interface {
	Uint64() uint64
}

// Source is a stream of random words and normal variates, both a [NormalSource] and a
// [UniformSource]. It is not safe for concurrent use.
type Source struct {
	stream *rand.ChaCha8
	secure bool
	left   int // words until the stream is rekeyed
}

// rekeyWords is the max number of words that a key serves: half a megabyte, four batches drawn from 15,000 examples.
const rekeyWords = 1 << 16

// NewSecureSource returns the source for production: ChaCha8 under a key of the operating system
// (crypto/rand). It takes a fresh key at the start and at the end of every call of Normal and
// DiscreteNormal, and after 65,536 words: a virtual machine resumed twice from one image repeats no
// noise, and a copy of the process's memory between two calls gives away none.
//
// math/rand/v2 promises its ChaCha8 to be cryptographically strong. Its state reveals up to 124 of
// the preceding words; the fresh key at the end of a call protects them.
func NewSecureSource() *Source { return &Source{secure: true, stream: rand.NewChaCha8([32]byte{})} }

// NewTestSource returns a DETERMINISTIC source. ANYONE WHO KNOWS THE SEED CAN REMOVE THE NOISE. It is for tests,
// simulations and test chains on public data, and nothing else: its releases have no privacy whatever the config says.
// Its words are the same everywhere; its normal variates may differ in the last bits between architectures.
func NewTestSource(seed uint64) *Source {
	key := sha256.Sum256(binary.BigEndian.AppendUint64([]byte("spdl privacy TEST source, no privacy"), seed))
	return &Source{stream: rand.NewChaCha8(key)}
}

// ErrTestSource means that a test source was to be used on a chain that is no test chain.
var ErrTestSource = errors.New("privacy: noise from a known seed is for test chains only")

// Permit returns ErrTestSource for a test source on a chain whose genesis does not say that it is a
// test chain. Ask before the first use of a source that may come from a setting.
func (s *Source) Permit(testChain bool) error {
	if !s.secure && !testChain {
		return ErrTestSource
	}
	return nil
}

// Uint64 returns a uniform random word.
func (s *Source) Uint64() uint64 {
	if s.left == 0 {
		s.rekey()
	}
	s.left--
	return s.stream.Uint64()
}

// rekey replaces the key of a secure source. crypto/rand does not fail: it ends the program if the
// system has no randomness.
func (s *Source) rekey() {
	s.left = rekeyWords
	if s.secure {
		var key [32]byte
		_, _ = cryptorand.Read(key[:])
		s.stream.Seed(key)
		clear(key[:])
	}
}
