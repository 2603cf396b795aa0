package internal_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/internal/spelling"
)

func TestClosest(t *testing.T) {
	all := []string{"rounds", "rule", "krum", "sign-flip", "multi-krum", "sign-flip"}
	for word, want := range map[string][]string{
		"rundes": {"rounds"}, "krumm": {"krum"}, "signflip": {"sign-flip"}, "multi": {"multi-krum"}, "RULE": {"rule"},
		"nothing": nil, "": nil,
	} {
		require.Equal(t, want, spelling.Closest(word, all), word)
	}
	require.Equal(t, []string{"aa", "ab", "ac"}, spelling.Closest("a", []string{"aa", "ab", "ac", "ad"}))
	require.Equal(t, " (did you mean krum?)", spelling.Suggest("krumm", all))
	require.Empty(t, spelling.Suggest("nothing", all))
}

// TestEdits: words are close at two insertions, deletions or replacements, and not at three, either way round. A word
// that begins the other is close at any distance.
func TestEdits(t *testing.T) {
	for _, x := range []struct {
		a, b  string
		close bool
	}{{"word", "wo", true}, {"word", "w", false}, {"kitten", "sitting", false}, {"kitten", "sittin", true},
		{"flaw", "lawn", true}, {"flaw", "lawns", false}, {"abcd", "xbyz", false}, {"abcd", "xbyd", true},
		{"same", "same", true}, {"abcd", "dcba", false}} {
		for _, pair := range [][2]string{{x.a, x.b}, {x.b, x.a}} {
			near := spelling.Closest(pair[0], []string{pair[1]})
			want := x.close || strings.HasPrefix(pair[1], pair[0])
			require.Equal(t, want, len(near) > 0, "%s %s", pair[0], pair[1])
		}
	}
}
