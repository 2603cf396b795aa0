package cli

import (
	"io"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/cmd/internal/cli/lab"
	"github.com/spdl/spdl/internal/stage"
)

var (
	fence    = regexp.MustCompile("(?ms)^ *```([a-z]*)\n(.*?)^ *```")
	codeSpan = regexp.MustCompile("`([^`]+)`")
	mdLink   = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading  = regexp.MustCompile(`(?m)^#+ (.*)$`)
	cmdLine  = regexp.MustCompile(`(?:^|[\s(=&|])(spdl|spdl-lab) ([^#;&|` + "`" + `)\n]*)`)
	flagWord = regexp.MustCompile(`^--([a-z0-9-]+)`)
)

// TestReadmeTables: the README's results on tables are means of docs/TABLES.md, of ten members at epsilon 1.
func TestReadmeTables(t *testing.T) {
	texts := documents(t)
	_, rows, found := strings.Cut(texts["README.md"], "| table | SPDL | under attack | a member alone, "+
		"not private |\n|---|---|---|---|\n")
	require.True(t, found)
	rows, _, _ = strings.Cut(rows, "\n\n")
	for row := range strings.SplitSeq(rows, "\n") {
		cells := strings.Split(strings.Trim(row, "| "), " | ")
		require.Len(t, cells, 4, row)
		name, _, _ := strings.Cut(cells[0], ",")
		for i, setting := range []string{"1 | SPDL, unit example", "1 | SPDL, unit example, a third attacks",
			"- | alone (not private)"} {
			auc, brier, _ := strings.Cut(cells[i+1], ", ")
			want := "| " + name + " | 10 | " + setting + " | " + auc
			line := regexp.MustCompile("(?m)^" + regexp.QuoteMeta(want) + `( ± [0-9.]+)? \| [^|]+ \| ` +
				regexp.QuoteMeta(brier) + `( ± [0-9.]+)? \|`)
			require.True(t, line.MatchString(texts["docs/TABLES.md"]), "docs/TABLES.md has no row %q with Brier score %s",
				want, brier)
		}
	}
}

// documents are the project's own texts, by their path from its root.
func documents(t *testing.T) map[string]string {
	t.Helper()
	texts := map[string]string{}
	for _, pattern := range []string{"*.md", "app/*.md", "app/worker/*/*.md", "docs/*.md", "docs/adr/*.md"} {
		files, err := filepath.Glob(docs + "../" + pattern)
		require.NoError(t, err)
		for _, file := range files {
			text, err := os.ReadFile(file)
			require.NoError(t, err)
			name, err := filepath.Rel(docs+"..", file)
			require.NoError(t, err)
			texts[name] = string(text)
		}
	}
	require.Contains(t, texts, "docs/OPERATING.md")
	return texts
}

// anchors are the names by which a page's headings are linked.
func anchors(text string) (names []string) {
	for _, h := range heading.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		name := regexp.MustCompile(`[^\p{L}\p{N}_ -]`).ReplaceAllString(strings.ToLower(h[1]), "")
		names = append(names, strings.ReplaceAll(name, " ", "-"))
	}
	return names
}

// TestLinks: every link of the documents that stays within the project leads to a file, and to a
// heading where it names one.
func TestLinks(t *testing.T) {
	stage.OnlyLong(t)
	texts := documents(t)
	for name, text := range texts {
		for _, m := range mdLink.FindAllStringSubmatch(text, -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			file, anchor, _ := strings.Cut(m[1], "#")
			target := name
			if file != "" {
				target = path.Join(path.Dir(name), file)
			}
			_, err := os.Stat(filepath.Join(docs+"..", target))
			require.NoError(t, err, "%s: %s", name, m[1])
			if anchor != "" {
				require.Contains(t, anchors(texts[target]), anchor, "%s: %s", name, m[1])
			}
		}
	}
}

// roots returns the command tree of each program.
func roots() map[string]*cobra.Command {
	all := map[string]*cobra.Command{"spdl": Root(io.Discard, io.Discard),
		"spdl-lab": lab.Root(io.Discard, io.Discard)}
	for _, root := range all {
		root.InitDefaultCompletionCmd()
	}
	return all
}

// TestDocumentedCommands: every command line of the documents names a command and flags that exist.
func TestDocumentedCommands(t *testing.T) {
	programs := roots()
	for name, text := range documents(t) {
		lines := []string{}
		for _, block := range fence.FindAllStringSubmatch(text, -1) {
			if block[1] == "sh" {
				lines = append(lines, strings.Split(strings.ReplaceAll(block[2], "\\\n", " "), "\n")...)
			}
		}
		for _, m := range codeSpan.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
			lines = append(lines, strings.ReplaceAll(m[1], "\n", " "))
		}
		for _, line := range lines {
			for _, m := range cmdLine.FindAllStringSubmatch(line, -1) {
				checkCommand(t, programs[m[1]], name+": "+m[1], strings.Fields(m[2]))
			}
		}
	}
}

func checkCommand(t *testing.T, root *cobra.Command, where string, words []string) {
	t.Helper()
	for len(words) > 0 && words[0] == "spdl" { // sudo -u spdl spdl init
		words = words[1:]
	}
	if len(words) == 0 || !regexp.MustCompile(`^[a-z][a-z-]*$`).MatchString(words[0]) {
		return
	}
	cmd, rest, err := root.Find(words)
	require.NoError(t, err, "%s %s", where, strings.Join(words, " "))
	require.True(t, cmd.HasParent(), "%s %s", where, strings.Join(words, " "))
	for _, word := range slices.DeleteFunc(rest, func(w string) bool { return !flagWord.MatchString(w) }) {
		f := flagWord.FindStringSubmatch(word)[1]
		known := cmd.Flags().Lookup(f) != nil || cmd.InheritedFlags().Lookup(f) != nil || f == "help"
		require.True(t, known, "%s %s: no flag %s", where, strings.Join(words, " "), word)
	}
}

// shownBy matches a test in THREATS.md: its package and its name.
var shownBy = regexp.MustCompile("`([a-z0-9_/]+) (Test[A-Za-z0-9_]+)`")

// TestThreats: every row of THREATS.md about an actor ends in tests that exist, or says that it is
// accepted and why.
func TestThreats(t *testing.T) {
	text, err := os.ReadFile(docs + "THREATS.md")
	require.NoError(t, err)
	rows, tests := 0, 0
	for line := range strings.Lines(string(text)) {
		cells := strings.Split(strings.Trim(strings.TrimSpace(line), "|"), " | ")
		if !strings.HasPrefix(line, "| ") || len(cells) != 3 || strings.Contains(line, "| shown by |") ||
			strings.HasPrefix(cells[0], " asset") {
			continue
		}
		last := strings.TrimSpace(cells[2])
		shown := shownBy.FindAllStringSubmatch(last, -1)
		if len(shown) == 0 && !regexp.MustCompile("^accepted[:; ] ?.{10}").MatchString(last) {
			if !strings.Contains(string(text)[:strings.Index(string(text), line)], "## A curious member") {
				continue // the assets
			}
			t.Errorf("no test, and not accepted with a reason: %s", line)
		}
		rows++
		for _, m := range shown {
			tests++
			files, err := filepath.Glob(filepath.Join(docs+"..", m[1], "*_test.go"))
			require.NoError(t, err)
			require.True(t, slices.ContainsFunc(files, func(file string) bool {
				code, err := os.ReadFile(file)
				return err == nil && strings.Contains(string(code), "\nfunc "+m[2]+"(")
			}), "package %s has no test %s", m[1], m[2])
		}
	}
	require.Greater(t, rows, 40)
	require.Greater(t, tests, 60)
}
