package app_test

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// buildings are the three parts of the house with their budgets of lines of Go by hand, without tests and generated
// files. The first prefix that fits a file decides. budget is what the part may have: a change that takes lines
// out lowers it, and an ADR alone raises it (ADR 50).
var buildings = []struct {
	name     string
	budget   int
	prefixes []string
}{
	{"laboratory", 13_460, []string{"testnet/", "docs/", "cmd/spdl-lab/", "cmd/internal/cli/lab/",
		"cmd/internal/cli/testnet/", "cmd/internal/cli/experiment/", "cmd/internal/cli/report/", "cmd/internal/history/"}},
	{"product", 30_490, []string{"cmd/"}},
	{"chain", 48_480, []string{""}},
}

// TestBudgets: no building is larger than its budget, and no budget leaves room for more than a small change.
func TestBudgets(t *testing.T) {
	lines := map[string]int{}
	const root = ".."
	require.NoError(t, filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		name, _ := filepath.Rel(root, path)
		name = filepath.ToSlash(name)
		switch {
		case err != nil:
			return err
		case entry.IsDir() && (name == "build" || strings.HasPrefix(entry.Name(), ".git")):
			return filepath.SkipDir
		case entry.IsDir() || !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go"):
			return nil
		}
		text, err := os.ReadFile(path)
		if err != nil || strings.HasSuffix(name, ".pb.go") {
			return err
		}
		for _, b := range buildings {
			for _, prefix := range b.prefixes {
				if strings.HasPrefix(name, prefix) {
					lines[b.name] += bytes.Count(text, []byte("\n"))
					return nil
				}
			}
		}
		return nil
	}))
	const room = 300
	for _, b := range buildings {
		n := lines[b.name]
		t.Logf("%-10s %6d lines, budget %d", b.name, n, b.budget)
		require.LessOrEqual(t, n, b.budget, "%s: name the lines that leave for what came", b.name)
		require.LessOrEqual(t, b.budget-n, room, "%s has %d lines: lower its budget", b.name, n)
	}
}
