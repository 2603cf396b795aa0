package explorer

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/params"

	"github.com/spdl/spdl/abci/query"
)

// TestParamsDiffer: the page marks what differs from the preset and from the epoch before.
func TestParamsDiffer(t *testing.T) {
	f := newFake(6, "default")
	s := over(t, f, Options{})
	page := get(s, "/params").Body.String()
	require.Contains(t, page, `<td class="why">`+params.Meanings["training.learning_rate"].Text)
	require.NotContains(t, page, `<td class="why">{`)
	require.Contains(t, page, "differ from the preset <bdi>default</bdi> for 4 participants")
	require.Contains(t, page, "<mark><bdi>0.5</bdi></mark> <small>gradient units</small>")
	require.NotContains(t, page, "In the epoch before")
	require.Equal(t, http.StatusOK, get(over(t, newFake(6, "none"), Options{}), "/params").Code, "no such preset")
	before := f.params()
	before.Training.LearningRate = 0.125
	s.tail.before = &before
	of, whole, err := s.settingsBefore(query.EpochState{})
	require.NoError(t, err)
	require.True(t, whole)
	require.Equal(t, "0.125", of["training.learning_rate"])
	s.tail.before = nil
	of, whole, err = s.settingsBefore(query.EpochState{Planned: 7, Rule: "krum"})
	require.NoError(t, err)
	require.False(t, whole)
	require.Equal(t, map[string]string{"training.rounds": "7", "rule.name": "krum", "preset": ""}, of)
}
