package watch_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/cmd/internal/cli/watch"
	"github.com/spdl/spdl/cmd/internal/modelfile"
)

// TestLemma1IsSaid: where the noise is Lemma 1's, the claim stands beside the accountant's epsilon
// and is called no guarantee, and nowhere else.
func TestLemma1IsSaid(t *testing.T) {
	epsilon, left := 0.0123, uint64(99)
	texts := func(claim float64) string {
		var out strings.Builder
		watch.PrivacyText(&out,
			[]query.Spend{{Epsilon: &epsilon, Left: &left, Budget: 0.16, Delta: 1e-6, Guarantee: true, Lemma1Epsilon: claim}})
		(&modelfile.Card{Epsilon: &epsilon, Delta: 1e-6, Lemma1Epsilon: claim}).Text(&out)
		return out.String()
	}
	said := texts(0.02)
	require.Equal(t, 2, strings.Count(said, "LEMMA 1 of the paper claims epsilon 0.02"))
	require.Equal(t, 2, strings.Count(said, "NO GUARANTEE"))
	require.Equal(t, 2, strings.Count(said, "0.0123"), "the accountant's epsilon is there too")
	require.NotContains(t, texts(0), "LEMMA")
}
