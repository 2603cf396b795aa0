package app_test

import (
	"go/scanner"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// unclear matches words that Style in CONTRIBUTING.md excludes; each has a plainer one.
var unclear = regexp.MustCompile(`(?i)\b(anew|meanwhile|for ever|at the least|whoever|so many|thereof)\b`)

// TestPlainWords checks comments, texts and documents for these words.
func TestPlainWords(t *testing.T) {
	require.NoError(t, filepath.WalkDir("..", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (strings.HasPrefix(d.Name(), ".") && d.Name() != ".." || d.Name() == "testdata" ||
			d.Name() == "build"):
			return filepath.SkipDir
		case d.IsDir() || d.Name() == "words_test.go":
			return nil
		}
		switch filepath.Ext(path) {
		case ".md":
			text, err := os.ReadFile(path)
			require.NoError(t, err)
			for i, line := range strings.Split(string(text), "\n") {
				require.NotRegexp(t, unclear, line, "%s:%d", path, i+1)
			}
		case ".go":
			src, err := os.ReadFile(path)
			require.NoError(t, err)
			files := token.NewFileSet()
			file := files.AddFile(path, -1, len(src))
			var s scanner.Scanner
			s.Init(file, src, nil, scanner.ScanComments)
			for {
				at, kind, text := s.Scan()
				if kind == token.EOF {
					break
				}
				if kind == token.COMMENT || kind == token.STRING {
					require.NotRegexp(t, unclear, text, "%s", files.Position(at))
				}
			}
		}
		return nil
	}))
}
