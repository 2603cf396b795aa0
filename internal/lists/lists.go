// Package lists holds the documents' lists of keys, metrics, codes and alerts to the code that they are made of. A
// list stands between the lines
//
//	<!-- go test ./abci/home -run TestReference -rewrite -->
//	<!-- end -->
//
// The first line names the test that makes the list.
package lists

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var rewrite = flag.Bool("rewrite", false, "write the list of a document that the test holds")

// Hold fails unless the list that t makes stands in docs/PAGE. With -rewrite it writes the list there.
func Hold(t *testing.T, page, list string) {
	t.Helper()
	folder, err := os.Getwd() // of the test's package
	require.NoError(t, err)
	root := folder
	for ; ; root = filepath.Dir(root) {
		if _, err := os.Stat(filepath.Join(root, "go.mod")); err == nil {
			break
		}
		require.NotEqual(t, root, filepath.Dir(root), "go.mod is in no folder above %s", folder)
	}
	name, err := filepath.Rel(root, folder)
	require.NoError(t, err)
	file := filepath.Join(root, "docs", page)
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	command := fmt.Sprintf("go test ./%s -run %s -rewrite", filepath.ToSlash(name), t.Name())
	before, rest, found := strings.Cut(string(text), "<!-- "+command+" -->\n")
	require.True(t, found, "docs/%s has no line <!-- %s -->", page, command)
	stands, after, found := strings.Cut(rest, "<!-- end -->\n")
	require.True(t, found, "docs/%s: <!-- %s --> has no line <!-- end --> below it", page, command)
	list = strings.TrimSpace(list) + "\n"
	if *rewrite {
		page := before + "<!-- " + command + " -->\n" + list + "<!-- end -->\n" + after
		require.NoError(t, os.WriteFile(file, []byte(page), 0o644))
		return
	}
	made, lines := strings.Split(list, "\n"), strings.Split(stands, "\n")
	for i := range min(len(made), len(lines)) {
		require.Equal(t, made[i], lines[i], command)
	}
	require.Len(t, lines, len(made), command)
}

// A Constant is one of a file of Go, with the comment behind it.
type Constant struct{ Name, Value, Comment string }

// Constants returns the constants of a file whose names have a prefix and which have a comment behind them. Value is
// the literal, or empty.
func Constants(t *testing.T, file, prefix string) (all []Constant) {
	t.Helper()
	parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments)
	require.NoError(t, err)
	ast.Inspect(parsed, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if !ok || spec.Comment == nil || !strings.HasPrefix(spec.Names[0].Name, prefix) {
			return true
		}
		c := Constant{Name: spec.Names[0].Name, Comment: strings.TrimSpace(spec.Comment.Text())}
		if literal, ok := spec.Values[0].(*ast.BasicLit); ok {
			c.Value = literal.Value
		}
		all = append(all, c)
		return true
	})
	require.NotEmpty(t, all, file)
	return all
}
