package home_test

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var rewrite = flag.Bool("rewrite", false, "write the table of keys in docs/CONFIGURATION.md")

// TestReference: the table of keys in docs/CONFIGURATION.md has the texts of app.toml. `go test ./abci/home -run
// Reference -rewrite` writes it.
func TestReference(t *testing.T) {
	const page, heading = "../../docs/CONFIGURATION.md", "## The keys of app.toml\n"
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
	was, err := os.ReadFile(page)
	require.NoError(t, err)
	before, rest, found := strings.Cut(string(was), heading)
	require.True(t, found)
	intro, rest, found := strings.Cut(rest, "| key |")
	require.True(t, found)
	rows, after, found := strings.Cut(rest, "\n\n")
	require.True(t, found)
	if *rewrite {
		require.NoError(t, os.WriteFile(page, []byte(before+heading+intro+table+"\n"+after), 0o644))
		return
	}
	require.Equal(t, strings.Split(table, "\n"), strings.Split("| key |"+rows+"\n", "\n"),
		"go test ./abci/home -run Reference -rewrite")
}

// asMarkdown turns quoted words into code, and names of documents into links.
func asMarkdown(text string) string {
	text = regexp.MustCompile(`"[^"]*"`).ReplaceAllString(text, "`$0`")
	text = strings.ReplaceAll(text, "docs/CONFIGURATION.md#", "#")
	text = regexp.MustCompile(`docs/(\w+)\.md(#[\w-]+)?`).ReplaceAllString(text, "[$1]($1.md$2)")
	return regexp.MustCompile(`\((#[\w-]+)\)`).ReplaceAllString(text, "([below]($1))")
}
