package abci_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/internal/lists"
)

// TestAnswersAreDocumented: the table of queries in docs/API.md has every path and no other, and the table of fields
// names every field of every answer that is not a message of the state.
func TestAnswersAreDocumented(t *testing.T) {
	page, err := os.ReadFile("../docs/API.md")
	require.NoError(t, err)
	code, err := os.ReadFile("query/query.go")
	require.NoError(t, err)
	_, registry, _ := strings.Cut(string(code), "\nvar paths = ")
	registry, _, _ = strings.Cut(registry, "\n}\n")
	_, table, _ := strings.Cut(string(page), "\n| command | path of `abci_query` | answer |\n")
	table, _, _ = strings.Cut(table, "\n\n")
	paths, listed := map[string]bool{}, map[string]bool{}
	for _, m := range regexp.MustCompile(`\n\t"([a-z]+)": `).FindAllStringSubmatch(registry, -1) {
		paths[m[1]] = true
	}
	for _, row := range strings.Split(table, "\n")[1:] {
		for _, m := range regexp.MustCompile("`/([a-z]+)[/`?]").FindAllStringSubmatch(strings.Split(row, " | ")[1], -1) {
			listed[m[1]] = true
		}
	}
	delete(listed, "velocity") // of the store, in pieces
	require.Equal(t, slices.Sorted(maps.Keys(paths)), slices.Sorted(maps.Keys(listed)))
	for path, answer := range map[string]any{
		"/status": query.Status{}, "/model": query.ModelState{}, "/leader": query.Leader{}, "/election": query.Election{},
		"/reputation": query.Standing{}, "/privacy": query.Spend{}, "/membership": query.Membership{},
		"/epochs":   query.EpochState{},
		"/refusals": query.Rejection{}, "/attempts": query.Attempt{}, "/timing": query.Timing{},
		"/upgrade": query.UpgradeState{},
		"/kept":    query.StateAfter{}, "/clocks": query.PeerClock{}, "/connections": query.Connections{},
	} {
		_, row, found := strings.Cut(string(page), "\n| `"+path+"` |")
		require.True(t, found, path)
		row, _, _ = strings.Cut(row, "\n")
		for _, field := range reflect.VisibleFields(reflect.TypeOf(answer)) {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			require.Contains(t, row, "`"+name+"`", path)
		}
	}
}

// TestResultCodes: docs/API.md lists the result codes with the comments of codes.go.
func TestResultCodes(t *testing.T) {
	table := "| code | meaning |\n|---|---|\n"
	for _, c := range lists.Constants(t, "codes.go", "Code") {
		table += fmt.Sprintf("| %s | %s |\n", c.Value, c.Comment)
	}
	lists.Hold(t, "API.md", table)
}

// TestEvents: docs/API.md lists the events of events.go, and for operations the attributes of package app.
func TestEvents(t *testing.T) {
	table, own := "| event | search | attributes | not indexed |\n|---|---|---|---|\n", map[string]bool{}
	code, err := os.ReadFile("events.go")
	require.NoError(t, err)
	_, list, found := strings.Cut(string(code), "\nvar figures = ")
	require.True(t, found)
	list, _, _ = strings.Cut(list, "}\n")
	file, err := parser.ParseFile(token.NewFileSet(), "events.go", code, 0)
	require.NoError(t, err)
	for _, decl := range file.Decls {
		ast.Inspect(decl, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || len(call.Args) < 3 {
				return true
			}
			if name, ok := call.Fun.(*ast.Ident); !ok || name.Name != "event" {
				return true
			}
			search := "tx_search"
			if name := decl.(*ast.FuncDecl).Name.Name; strings.HasSuffix(name, "Events") {
				search = "block_search"
			}
			var indexed, others []string
			for i := 1; i < len(call.Args); i += 2 {
				key := "`" + text(t, call.Args[i]) + "`"
				if strings.Contains(list, `"`+text(t, call.Args[i])+`"`) {
					others = append(others, key)
				} else {
					indexed = append(indexed, key)
				}
			}
			own[text(t, call.Args[0])] = true
			table += fmt.Sprintf("| `%s` | `%s` | %s | %s |\n", text(t, call.Args[0]), search, strings.Join(indexed, ", "),
				strings.Join(others, ", "))
			return true
		})
	}
	var kinds []string
	for _, number := range slices.Sorted(maps.Keys(tx.Kind_name)) {
		if name := tx.Kind(number).String(); number != 0 && !own[name] {
			kinds = append(kinds, "`"+name+"`")
		}
	}
	require.Len(t, own, 7)
	lists.Hold(t, "API.md", table+fmt.Sprintf("| %s | `tx_search` | by kind: %s | |\n", strings.Join(kinds, ", "),
		strings.Join(operationAttributes(t), ", ")))
}

// text returns the text of a literal.
func text(t *testing.T, e ast.Expr) string {
	t.Helper()
	value, err := strconv.Unquote(e.(*ast.BasicLit).Value)
	require.NoError(t, err)
	return value
}

// operationAttributes returns the names of the attributes that app.Describe gives operations.
func operationAttributes(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob("../app/*.go")
	require.NoError(t, err)
	names := map[string]bool{}
	for _, file := range files {
		code, err := os.ReadFile(file)
		require.NoError(t, err)
		lists := regexp.MustCompile(`(?s)Attributes: +\[\]Attribute\{.*?\},?\n?\t*\}`).FindAllString(string(code), -1)
		lists = append(lists, regexp.MustCompile(`(common|d\.Attributes), Attribute\{".*`).FindAllString(string(code), -1)...)
		for _, m := range regexp.MustCompile(`\{"([a-z_]+)",`).FindAllStringSubmatch(strings.Join(lists, "\n"), -1) {
			names["`"+m[1]+"`"] = true
		}
	}
	return slices.Sorted(maps.Keys(names))
}
