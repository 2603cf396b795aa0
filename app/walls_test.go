package app_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/spdl/spdl/"

// pure are the rooms whose results reach consensus state: nothing in them may
// know of clocks, randomness, the machine or the network.
var pure = []string{"gradients", "krum", "krum/rules", "app", "app/params", "app/tx", "app/leader", "privacy/floor",
	"internal/strictjson"}

// vocabulary is what every room above app speaks: it came out of app, which they
// import anyway, and counts as one with it. strict stands beside the standard library.
const vocabulary, strict = "app/params", "internal/strictjson"

var forbidden = []string{"github.com/cometbft", "gonum.org", "github.com/spf13", "time", "math/rand", "crypto/rand",
	"os", "net"}

// fanOut is how many rooms of ours a room may import: beyond that it knows the
// whole house.
const fanOut = 8

// composing are the rooms whose work is to put others together, each with its
// reason. A limit on them would only cut one concept into several packages.
var composing = map[string]string{
	"abci/home":             "all that the files of a home describe: node, chain, data, model, worker and trainer",
	"cmd/internal/cli":      "the composition root: every group of commands",
	"cmd/internal/cli/tx":   "one signed transaction from keys, parameters, client and chain",
	"cmd/internal/explorer": "all that a node tells, as pages, pictures and model files",
	"testnet": "localnets: real nodes, their attackers and links, the rounds and accuracy that " +
		"they report",
	"testnet/experiment/train": "one training from parameters, data, workers, attackers and a simulated or real net",
}

// layers are the top folders from the lowest to the highest. A package imports from its own folder
// and from lower ones; folders of one layer do not import each other.
var layers = [][]string{{"internal"}, {"gradients"}, {"krum"}, {"privacy", "mnist"}, {"app"}, {"abci"}, {"testnet"},
	{"cmd"}}

// layer returns the layer of a package's top folder, or -1 if layers lacks it.
func layer(pkg string) int {
	top, _, _ := strings.Cut(pkg, "/")
	return slices.IndexFunc(layers, func(folders []string) bool { return slices.Contains(folders, top) })
}

// downwards reports whether an import keeps to the layers.
func downwards(from, to string) bool {
	top, _, _ := strings.Cut(from, "/")
	return to == top || strings.HasPrefix(to, top+"/") || layer(from) >= 0 && layer(to) >= 0 && layer(to) < layer(from)
}

// imports maps each room of the project to what its non-test files import.
func imports(t *testing.T) map[string][]string {
	t.Helper()
	rooms := map[string][]string{}
	require.NoError(t, filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && d.Name() != ".." || d.Name() == "testdata" ||
			d.Name() == "build"):
			return filepath.SkipDir
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		room := filepath.ToSlash(filepath.Dir(strings.TrimPrefix(path, ".."+string(filepath.Separator))))
		rooms[room] = append(rooms[room], "")
		for _, spec := range f.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			rooms[room] = append(rooms[room], name)
		}
		return nil
	}))
	return rooms
}

// TestWalls holds the house to its plan: pure rooms import no forbidden
// Package and only pure rooms of ours; no room but the composing ones imports
// more than fanOut others, and each of those does; every room has a doc comment
// of its own.
func TestWalls(t *testing.T) {
	rooms := imports(t)
	for _, room := range pure {
		require.Contains(t, rooms, room)
	}
	for room := range composing {
		require.Contains(t, rooms, room)
	}
	for room, names := range rooms {
		own := map[string]bool{}
		for _, name := range names {
			if other, ok := strings.CutPrefix(name, module); ok {
				own[other] = true
				require.True(t, downwards(room, other), "%s imports %s, which is not in a lower folder", room, other)
				if slices.Contains(pure, room) {
					require.Contains(t, pure, other, "%s is pure and imports %s", room, other)
				}
			}
			if slices.Contains(pure, room) {
				for _, f := range forbidden {
					require.False(t, name == f || strings.HasPrefix(name, f+"/"), "%s imports %s", room, name)
				}
			}
		}
		delete(own, strict)
		if own["app"] {
			delete(own, vocabulary)
		}
		if _, ok := composing[room]; ok {
			require.Greater(t, len(own), fanOut, "%s need not be listed as a composing room", room)
		} else {
			require.LessOrEqual(t, len(own), fanOut, "%s imports %v", room, own)
		}
		require.True(t, documented(t, room), "%s has no package comment", room)
	}
}

func documented(t *testing.T, room string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", room, "*.go"))
	require.NoError(t, err)
	for _, file := range files {
		src, err := os.ReadFile(file)
		require.NoError(t, err)
		f, err := parser.ParseFile(token.NewFileSet(), file, src, parser.PackageClauseOnly|parser.ParseComments)
		require.NoError(t, err)
		if f.Doc != nil && strings.HasPrefix(f.Doc.Text(), "Package ") || f.Doc != nil && strings.HasPrefix(f.Doc.Text(),
			"Command ") {
			return true
		}
	}
	return false
}
