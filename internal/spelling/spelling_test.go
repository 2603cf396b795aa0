package spelling

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestClosest(t *testing.T) {
	all := []string{"rounds", "rule", "krum", "sign-flip", "multi-krum", "sign-flip"}
	for word, want := range map[string][]string{
		"rundes": {"rounds"}, "krumm": {"krum"}, "signflip": {"sign-flip"}, "multi": {"multi-krum"}, "RULE": {"rule"},
		"nothing": nil, "": nil,
	} {
		require.Equal(t, want, Closest(word, all), word)
	}
	require.Len(t, Closest("a", []string{"aa", "ab", "ac", "ad"}), most)
	require.Equal(t, " (did you mean krum?)", Suggest("krumm", all))
	require.Empty(t, Suggest("nothing", all))
}

func TestEdits(t *testing.T) {
	for _, x := range []struct {
		a, b string
		want int
	}{{"", "", 0}, {"", "ab", 2}, {"kitten", "sitting", 3}, {"flaw", "lawn", 2}, {"same", "same", 0}} {
		require.Equal(t, x.want, edits(x.a, x.b), "%s %s", x.a, x.b)
		require.Equal(t, x.want, edits(x.b, x.a), "%s %s", x.b, x.a)
	}
}
