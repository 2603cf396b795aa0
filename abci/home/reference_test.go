package home_test

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/internal/lists"
)

// TestReference: the table of keys in docs/CONFIGURATION.md has the texts of app.toml.
func TestReference(t *testing.T) {
	doc, err := os.ReadFile("app.toml")
	require.NoError(t, err)
	table, section, about := "| key | default | is |\n|---|---|---|\n", "", ""
	for line := range strings.Lines(string(doc)) {
		line = strings.TrimSuffix(line, "\n")
		key, value, isKey := strings.Cut(line, " = ")
		text, isText := strings.CutPrefix(line, "# ")
		switch {
		case isText:
			about = strings.TrimSpace(about + " " + text)
		case strings.HasPrefix(line, "["):
			section = strings.Trim(line, "[]")
		case isKey:
			require.NotEmpty(t, about, "%s.%s has a text of its own", section, key)
			table += fmt.Sprintf("| `%s.%s` | `%s` | %s |\n", section, key, value, asMarkdown(about))
			about = ""
		default:
			about = ""
		}
	}
	lists.Hold(t, "CONFIGURATION.md", table)
}

// asMarkdown turns quoted words into code, and names of documents into links.
func asMarkdown(text string) string {
	text = regexp.MustCompile(`"[^"]*"`).ReplaceAllString(text, "`$0`")
	text = strings.ReplaceAll(text, "docs/CONFIGURATION.md#", "#")
	text = regexp.MustCompile(`docs/(\w+)\.md(#[\w-]+)?`).ReplaceAllString(text, "[$1]($1.md$2)")
	return regexp.MustCompile(`\((#[\w-]+)\)`).ReplaceAllString(text, "([below]($1))")
}
