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

// A worker that is stopped at any release, and whose state passes through a file, submits what it would have submitted.
func TestRestoreContinuesTheRun(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		config := rapid.SampledFrom([]privacy.Config{preset, paper, none}).Draw(t, "config")
		config.Momentum = rapid.Float64Range(0, 0.999).Draw(t, "momentum")
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
	m := mechanism(t, preset, fine, 2, privacy.NewTestSource(1))
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
		{func(s *privacy.Snapshot) { s.NoiseVariance = math.NaN() }, "noise variance NaN, want a finite number of at least 0"},
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
