package accountant

import (
	"sync"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

var preset = Mechanism{SamplingRate: 0.1, NoiseMultiplier: 2.670}

func TestLedger(t *testing.T) {
	l, err := NewLedger(preset)
	require.NoError(t, err)
	last := 0.0
	for rounds := range 201 {
		epsilon, err := l.Epsilon(rounds, 1e-6)
		require.NoError(t, err)
		if rounds%40 == 0 {
			assert.Equal(t, epsilonOf(t, RDP, 1e-6, Step{preset, rounds}), epsilon)
			delta, err := l.Delta(rounds, 2)
			require.NoError(t, err)
			assert.Equal(t, deltaOf(t, RDP, 2, Step{preset, rounds}), delta)
		}
		assert.True(t, epsilon > last || rounds == 0, "round %d: %v after %v", rounds, epsilon, last)
		last = epsilon
	}
	// From behind as from before.
	fresh, err := NewLedger(preset)
	require.NoError(t, err)
	a, err := fresh.Epsilon(200, 1e-6)
	require.NoError(t, err)
	assert.Equal(t, last, a)
}

func TestLedgerAfterOtherRounds(t *testing.T) {
	spent := []Step{steps(0.05, 3, 200), steps(1, 50, 3)}
	l, err := NewLedger(preset, spent...)
	require.NoError(t, err)
	for _, rounds := range []int{0, 1, 50} {
		epsilon, err := l.Epsilon(rounds, 1e-6)
		require.NoError(t, err)
		assert.InEpsilon(t, epsilonOf(t, RDP, 1e-6, append(spent, Step{preset, rounds})...), epsilon, 1e-12)
	}
	left, err := l.MaxRounds(2, 1e-6)
	require.NoError(t, err)
	assert.Greater(t, left, 0)
	all, err := MaxRounds(preset, 2, 1e-6)
	require.NoError(t, err)
	assert.Less(t, left, all)
	left, err = l.MaxRounds(0.1, 1e-6)
	require.NoError(t, err)
	assert.Zero(t, left, "overspent already")
}

func TestMaxRounds(t *testing.T) {
	for _, tt := range []struct {
		m       Mechanism
		epsilon float64
		rounds  int
	}{
		{preset, 2, 100},
		{Mechanism{0.1, 1.604}, 4, 100},
		{preset, 0, 0},
		{Mechanism{1, 0.3}, 1, 0},
		{Mechanism{1e-12, 1e9}, 1, maxRounds},
	} {
		got, err := MaxRounds(tt.m, tt.epsilon, 1e-6)
		require.NoError(t, err)
		assert.Equal(t, tt.rounds, got, "%+v", tt)
	}
}

func TestLedgerIsSafeForConcurrentUse(t *testing.T) {
	l, err := NewLedger(preset)
	require.NoError(t, err)
	want := epsilonOf(t, RDP, 1e-6, Step{preset, 100})
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for rounds := 100 - i; rounds <= 100; rounds++ {
				epsilon, err := l.Epsilon(rounds, 1e-6)
				assert.NoError(t, err)
				if rounds == 100 {
					assert.Equal(t, want, epsilon)
				}
			}
		})
	}
	group.Wait()
}
