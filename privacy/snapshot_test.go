package privacy_test

import (
	"encoding/json"
	"math"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/spdl/spdl/gradients"
	"github.com/spdl/spdl/privacy"
)

// A worker that is stopped at any release, and whose state passes through a file, submits what it
// would have submitted.
func TestRestoreContinuesTheRun(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		config := rapid.SampledFrom([]privacy.Config{usual, exact(), paper, none}).Draw(t, "config")
		config.Momentum = rapid.OneOf(rapid.Float64Range(0, 0.999), rapid.Just(1.0)).Draw(t, "momentum")
		seed := rapid.Uint64().Draw(t, "seed")
		stop := rapid.IntRange(0, 20).Draw(t, "stop")
		const dim = 5
		run := func(stopped bool) (vectors []gradients.Vector, reports []privacy.Report) {
			src := privacy.NewTestSource(seed)
			m, err := privacy.New(config, fine, dim, src)
			require.NoError(t, err)
			for release := range 20 {
				if stopped && release == stop {
					file, err := json.Marshal(m.Snapshot())
					require.NoError(t, err)
					var s privacy.Snapshot
					require.NoError(t, json.Unmarshal(file, &s))
					m, err = privacy.New(config, fine, dim, src)
					require.NoError(t, err)
					require.NoError(t, m.Restore(s))
				}
				v, report := m.Release([]float64{1, 2, 3, 4, float64(release)})
				vectors, reports = append(vectors, v), append(reports, report)
			}
			return vectors, reports
		}
		vectors, reports := run(false)
		vectorsAgain, reportsAgain := run(true)
		require.Equal(t, vectors, vectorsAgain)
		require.Equal(t, reports, reportsAgain)
	})
}

// A mechanism that resumes after t releases, its snapshot lost, goes on with the noise of one that
// never stopped: that of release t at once, and s_(t+1), s_(t+2), ... after.
func TestResume(t *testing.T) {
	const dim = 7850
	zero := make([]float64, dim)
	sums := usual
	sums.Momentum = 1
	for _, config := range []privacy.Config{usual, exact(), sums} {
		for _, made := range []int{0, 1, 7, 500} {
			m := mechanism(t, config, fine, dim, privacy.NewTestSource(uint64(made)))
			m.Release(make([]float64, dim)) // what there was before is gone
			m.Resume(made)
			assert.Equal(t, made, m.Releases())
			for release := made; release < made+5; release++ {
				s, std := m.Snapshot(), privacy.SubmittedStd(config, release)
				square := 0.0
				for _, v := range s.Momentum {
					square += v * v
				}
				assert.Equal(t, release, s.Releases)
				assert.InDelta(t, std*std, s.NoiseVariance, 6e-6*std*std)
				assert.InDelta(t, dim*std*std, square, chiSquareBound(dim)*std*std, "release %d after %d", release, made)

				_, report := m.Release(zero)
				assert.Equal(t, release+1, report.Release)
				assert.Equal(t, report.Release, m.Releases())
				assert.InEpsilon(t, privacy.SubmittedStd(config, release+1), report.NoiseStd, 3e-6)
				other := mechanism(t, config, fine, dim, privacy.NewTestSource(1))
				require.NoError(t, other.Restore(m.Snapshot()), "what Restore expects after this many releases")
			}
		}
	}
}

// Nothing of the data survives, and two that resume do not agree.
func TestResumeIsFreshNoise(t *testing.T) {
	resume := func(first float64) []float64 {
		m := mechanism(t, usual, fine, 3, privacy.NewTestSource(1))
		m.Release([]float64{first, 0, 0})
		m.Resume(4)
		return m.Snapshot().Momentum
	}
	assert.Equal(t, resume(0), resume(1000))
	a, b := mechanism(t, usual, fine, 3, privacy.NewSecureSource()),
		mechanism(t, usual, fine, 3, privacy.NewSecureSource())
	a.Resume(4)
	b.Resume(4)
	assert.NotEqual(t, a.Snapshot().Momentum, b.Snapshot().Momentum)
}

// A kind whose noise is not known in advance resumes from nothing.
func TestResumeWithoutNoise(t *testing.T) {
	for _, config := range []privacy.Config{paper, none} {
		m := mechanism(t, config, fine, 2, privacy.NewTestSource(1))
		m.Release([]float64{500, 1})
		m.Resume(3)
		assert.Equal(t, privacy.Snapshot{Momentum: []float64{0, 0}, Releases: 3}, m.Snapshot())
	}
}

func TestSnapshotCopies(t *testing.T) {
	m := mechanism(t, none, fine, 1, privacy.NewTestSource(1))
	m.Release([]float64{1})
	s := m.Snapshot()
	m.Release([]float64{2})
	assert.Equal(t, privacy.Snapshot{Momentum: []float64{0.01}, Releases: 1}, s)
	require.NoError(t, m.Restore(s))
	s.Momentum[0] = 5
	assert.Equal(t, []float64{0.01}, m.Snapshot().Momentum)
}

func TestRestoreErrors(t *testing.T) {
	m := mechanism(t, usual, fine, 2, privacy.NewTestSource(1))
	m.Release([]float64{1, 2})
	before := m.Snapshot()
	for _, c := range []struct {
		spoil func(*privacy.Snapshot)
		want  string
	}{
		{func(s *privacy.Snapshot) { s.Momentum = s.Momentum[:1] }, "dimension 1, want 2"},
		{func(s *privacy.Snapshot) { s.Releases = -1 }, "-1 releases, want at least 0"},
		{func(s *privacy.Snapshot) { s.Momentum[1] = math.NaN() }, "coordinate 1 is NaN, want a finite number"},
		{func(s *privacy.Snapshot) { s.Momentum[0] = math.Inf(1) }, "coordinate 0 is +Inf, want a finite number"},
		{func(s *privacy.Snapshot) { s.NoiseVariance = -1 }, "noise variance -1, want a finite number of at least 0"},
		{func(s *privacy.Snapshot) { s.NoiseVariance = math.NaN() },
			"noise variance NaN, want a finite number of at least 0"},
		{func(s *privacy.Snapshot) { s.NoiseVariance = 4 }, "noise of standard deviation 2 after 1 releases, want 0.00017"},
		{func(s *privacy.Snapshot) { s.Releases = 2 }, "noise of standard deviation 0.00017"},
	} {
		s := m.Snapshot()
		c.spoil(&s)
		err := m.Restore(s)
		require.ErrorIs(t, err, privacy.ErrSnapshot)
		assert.ErrorContains(t, err, "privacy: bad snapshot: "+c.want)
		assert.Equal(t, before, m.Snapshot(), "a refused snapshot changes nothing")
	}
}
