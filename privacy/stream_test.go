package privacy

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// The uniform behind every normal keeps 54 bits, sign included: no coarser, no value outside, no
// bias.
func TestSignedIsExact(t *testing.T) {
	assert.Zero(t, signed(0))
	assert.Equal(t, -1.0, signed(1<<63))
	assert.Equal(t, 1-0x1p-53, signed(math.MaxInt64))
	assert.Equal(t, 0x1p-53, signed(1<<10))
	assert.Equal(t, -0x1p-53, signed(math.MaxUint64))
	assert.Equal(t, 0.5-0x1p-53, signed(1<<62-1))
}

// twin returns what a copy of the process's memory, or a second virtual machine from one image,
// would go on with.
func twin(t *testing.T, s *Source) *Source {
	state, err := s.stream.MarshalBinary()
	require.NoError(t, err)
	stream := new(rand.ChaCha8)
	require.NoError(t, stream.UnmarshalBinary(state))
	return &Source{stream: stream, secure: s.secure, left: s.left}
}

func TestCopiedStateDoesNotRepeatNoise(t *testing.T) {
	a := NewSecureSource()
	a.Uint64()
	b := twin(t, a)
	assert.Equal(t, a.Uint64(), b.Uint64(), "the twin is one")
	noiseA, noiseB := make([]float64, 4), make([]float64, 4)
	a.Normal(noiseA)
	b.Normal(noiseB)
	assert.NotEqual(t, noiseA, noiseB)
}

// After a call the stream is under a key of which no word was used: what was drawn cannot be
// computed from it.
func TestDrawsAreErased(t *testing.T) {
	s, fresh := NewSecureSource(), func(s *Source) bool {
		state, err := s.stream.MarshalBinary()
		require.NoError(t, err)
		var seed [32]byte
		copy(seed[:], state[len("chacha8:")+8:])
		begin, err := rand.NewChaCha8(seed).MarshalBinary()
		require.NoError(t, err)
		return string(begin[:16]) == string(state[:16]) && s.left == rekeyWords
	}
	g, err := NewDiscreteGaussian(9, 1)
	require.NoError(t, err)
	s.Normal(make([]float64, 5))
	assert.True(t, fresh(s))
	s.Uint64()
	assert.False(t, fresh(s))
	s.DiscreteNormal(make([]int64, 5), g)
	assert.True(t, fresh(s))
}

func TestSecureSourceRekeys(t *testing.T) {
	a := NewSecureSource()
	a.Uint64()
	b := twin(t, a)
	for i := 1; i < rekeyWords; i++ {
		require.Equal(t, a.Uint64(), b.Uint64())
	}
	assert.NotEqual(t, a.Uint64(), b.Uint64())
}

func TestTestSourceNeverRekeys(t *testing.T) {
	a := NewTestSource(1)
	b := twin(t, a)
	for range 2*rekeyWords + 1 {
		require.Equal(t, a.Uint64(), b.Uint64())
	}
}
