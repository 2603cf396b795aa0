package pages

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestVisible: what it writes, exactly.
func TestVisible(t *testing.T) {
	for text, want := range map[string]string{
		"plain é 漢 مرحبا": "plain é 漢 مرحبا",
		"a\u202eb":        `a\u{202E}b`, "a\xffb": `a\xFFb`, "\x1b[2J": `\u{1B}[2J`,
		"\u00a0":                          `\u{A0}`,
		"z" + strings.Repeat("\u0301", 6): "z" + strings.Repeat("\u0301", 4) + `\u{301}\u{301}`,
	} {
		require.Equal(t, want, string(Visible([]byte(text), ForPage)))
	}
	require.Equal(t, `"\u202e\udb40\udc01"`, string(Visible([]byte("\"\u202e\U000e0001\""), ForJSON)))
}

// TestTerms: a word that is not in the glossary is a mistake of a template.
func TestTerms(t *testing.T) {
	_, err := termOf("nonsense")
	require.ErrorContains(t, err, "not in the glossary")
}
