package app_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const module = "github.com/spdl/spdl/"

// pure lists the packages whose results reach consensus state. They import no clock, randomness,
// operating system or network.
var pure = []string{"gradients", "krum", "krum/rules", "app", "app/params", "app/tx", "app/leader", "privacy/floor",
	"internal/strictjson"}

// vocabulary is the package of the parameters. Every package above app imports it with app, so the
// two count as one. strict counts as a part of the standard library.
const vocabulary, strict = "app/params", "internal/strictjson"

var forbidden = []string{"github.com/cometbft", "gonum.org", "github.com/spf13", "time", "math/rand", "crypto/rand",
	"os", "net"}

// fanOut is the max number of our packages that a package imports. Packages of cmd may import more: a program
// puts others together, and a limit would only cut it into packages of lists.
const fanOut = 8

// composing lists the packages whose work is to put others together, each with its reason. A limit
// on them would only cut one concept into several packages.
var composing = map[string]string{
	"abci/home": "all that the files of a home describe: node, chain, data, model, worker and trainer",
	"testnet": "localnets: real nodes, their attackers and links, the rounds and accuracy that " +
		"they report",
	"testnet/experiment/train": "one training from parameters, data, workers, attackers and a simulated or real net",
}

// layers are the top folders from the lowest to the highest. A package imports from its own folder
// and from lower ones; folders of one layer do not import each other.
var layers = [][]string{
	{"internal", "docs"}, {"gradients"}, {"krum"}, {"privacy", "mnist"}, {"app"}, {"abci"}, {"testnet"}, {"cmd"},
}

// layer returns the layer of a package's top folder, or -1 if layers lacks it.
func layer(pkg string) int {
	top, _, _ := strings.Cut(pkg, "/")
	return slices.IndexFunc(layers, func(folders []string) bool { return slices.Contains(folders, top) })
}

// downwards reports whether an import follows the layers.
func downwards(from, to string) bool {
	top, _, _ := strings.Cut(from, "/")
	return to == top || strings.HasPrefix(to, top+"/") || layer(from) >= 0 && layer(to) >= 0 && layer(to) < layer(from)
}

// imports maps each package of the project to the imports of its non-test files.
func imports(t *testing.T) map[string][]string {
	t.Helper()
	packages := map[string][]string{}
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
		pkg := filepath.ToSlash(filepath.Dir(strings.TrimPrefix(path, ".."+string(filepath.Separator))))
		packages[pkg] = append(packages[pkg], "")
		for _, spec := range f.Imports {
			name, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				return err
			}
			packages[pkg] = append(packages[pkg], name)
		}
		return nil
	}))
	return packages
}

// TestProductWithoutLaboratory: spdl links nothing of testnet, so no validator carries attacks; spdl-lab does.
func TestProductWithoutLaboratory(t *testing.T) {
	for program, want := range map[string]bool{"spdl": false, "spdl-lab": true} {
		out, err := exec.Command("go", "list", "-deps", "../cmd/"+program).Output()
		require.NoError(t, err)
		require.Equal(t, want, strings.Contains(string(out), module+"testnet"), program)
	}
}

// TestWalls checks the layers of the packages: pure packages import no forbidden package, and only
// pure packages of ours; only composing packages and those of cmd import more than fanOut others, and
// each composing one does; every package has a doc comment.
func TestWalls(t *testing.T) {
	packages := imports(t)
	for _, pkg := range pure {
		require.Contains(t, packages, pkg)
	}
	for pkg := range composing {
		require.Contains(t, packages, pkg)
	}
	for pkg, names := range packages {
		own := map[string]bool{}
		for _, name := range names {
			if other, ok := strings.CutPrefix(name, module); ok {
				own[other] = true
				require.True(t, downwards(pkg, other), "%s imports %s, which is not in a lower folder", pkg, other)
				if slices.Contains(pure, pkg) {
					require.Contains(t, pure, other, "%s is pure and imports %s", pkg, other)
				}
			}
			if slices.Contains(pure, pkg) {
				for _, f := range forbidden {
					require.False(t, name == f || strings.HasPrefix(name, f+"/"), "%s imports %s", pkg, name)
				}
			}
		}
		delete(own, strict)
		if own["app"] {
			delete(own, vocabulary)
		}
		if _, ok := composing[pkg]; ok {
			require.Greater(t, len(own), fanOut, "%s need not be listed as a composing pkg", pkg)
		} else if !strings.HasPrefix(pkg, "cmd/") {
			require.LessOrEqual(t, len(own), fanOut, "%s imports %v", pkg, own)
		}
		require.True(t, documented(t, pkg), "%s has no package comment", pkg)
	}
}

func documented(t *testing.T, pkg string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join("..", pkg, "*.go"))
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
