package explorer

import (
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/params"
)

// TestParamsDiffer: the page marks what differs from the preset.
func TestParamsDiffer(t *testing.T) {
	f := newFake(6, "default")
	s := over(t, f, Options{})
	page := get(s, "/params").Body.String()
	require.Contains(t, page, `<td class="why">`+params.Meanings["training.learning_rate"].Text)
	require.NotContains(t, page, `<td class="why">{`)
	require.Contains(t, page, "differ from the preset <bdi>default</bdi> for 4 participants")
	require.Contains(t, page, "<mark><bdi>0.5</bdi></mark> <small>gradient units</small>")
	require.Equal(t, http.StatusOK, get(over(t, newFake(6, "none"), Options{}), "/params").Code, "no such preset")
}
