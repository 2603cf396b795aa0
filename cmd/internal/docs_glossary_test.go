package internal_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/docs"
)

// TestGlossary: every entry of the page is read whole, both lists are sorted, and the first has
// fifteen words.
func TestGlossary(t *testing.T) {
	readme, err := os.ReadFile("../../docs/README.md")
	require.NoError(t, err)
	all := docs.Glossary()
	_, glossary, found := strings.Cut(string(readme), "\n## Glossary\n")
	require.True(t, found)
	require.Len(t, all, strings.Count(glossary, "\n- **"))
	byWord := func(a, b docs.Term) int { return strings.Compare(strings.ToLower(a.Word), strings.ToLower(b.Word)) }
	first := strings.Count(glossary[:strings.Index(glossary, "### More")], "\n- **")
	require.Equal(t, 15, first)
	require.True(t, slices.IsSortedFunc(all[:first], byWord))
	require.True(t, slices.IsSortedFunc(all[first:], byWord))
	seen := map[string]bool{}
	for _, x := range all {
		require.False(t, seen[x.Word], "%q is there twice", x.Word)
		seen[x.Word] = true
		require.True(t, strings.HasSuffix(x.Means, "."), "%q: %q", x.Word, x.Means)
		require.NotContains(t, x.Means, "*", x.Word)
	}
}
