package internal_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// notices builds the command. What it returns runs the command in the module of a folder, and returns what it writes,
// or its error.
func notices(t *testing.T) func(module string) (list, text, failure string) {
	t.Helper()
	sources, err := filepath.Glob("notices/*.go")
	require.NoError(t, err)
	for _, file := range append(sources, "../../go.mod") { // so that their change makes a kept result stale
		_, err := os.ReadFile(file)
		require.NoError(t, err)
	}
	dir := t.TempDir()
	program, files := filepath.Join(dir, "notices"), [2]string{filepath.Join(dir, "list"), filepath.Join(dir, "text")}
	built, err := exec.Command("go", "build", "-o", program, "./notices").CombinedOutput()
	require.NoError(t, err, "%s", built)
	return func(module string) (list, text, failure string) {
		cmd := exec.Command(program, files[0], files[1])
		cmd.Dir = module
		if said, err := cmd.CombinedOutput(); err != nil {
			return "", "", string(said)
		}
		var written [2]string
		for i, file := range files {
			data, err := os.ReadFile(file)
			require.NoError(t, err)
			written[i] = string(data)
		}
		return written[0], written[1], ""
	}
}

// TestNoticesAreUpToDate: NOTICES.md names all modules that are in the program, at their
// versions, and each has its text in what is shipped.
func TestNoticesAreUpToDate(t *testing.T) {
	want, text, failure := notices(t)(".")
	require.Empty(t, failure)
	got, err := os.ReadFile("../../NOTICES.md")
	require.NoError(t, err)
	require.True(t, want == string(got), "NOTICES.md is not up to date: make notices writes it again")

	rows := 0
	for _, line := range strings.Split(string(got), "\n") {
		cells := strings.Split(line, " | ")
		if len(cells) != 3 || cells[0] == "| part" {
			continue
		}
		rows++
		require.Contains(t, text, "\n"+strings.TrimSpace(strings.TrimPrefix(cells[0], "| ")+" "+
			strings.TrimSpace(cells[1])), line)
	}
	require.Greater(t, rows, 100)
}

// TestPartWithoutLicence: a module whose licence is missing or not known stops the page.
func TestPartWithoutLicence(t *testing.T) {
	dir, run := t.TempDir(), notices(t)
	licence := filepath.Join(dir, "part", "LICENSE")
	for name, text := range map[string]string{
		"go.mod": "module example.org/program\n\nrequire example.org/part v1.0.0\n\n" +
			"replace example.org/part => ./part\n",
		"cmd/spdl/main.go":     "package main\n\nimport _ \"example.org/part\"\n\nfunc main() {}\n",
		"mnist/data/README.md": "CC BY-SA 3.0",
		"part/go.mod":          "module example.org/part\n",
		"part/part.go":         "package part\n",
	} {
		file := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(file), 0o700))
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
	}
	_, _, failure := run(dir)
	require.Contains(t, failure, "example.org/part v1.0.0: no known licence in []")
	require.NoError(t, os.WriteFile(licence, []byte("All rights reserved."), 0o600))
	_, _, failure = run(dir)
	require.Contains(t, failure, "no known licence")
	require.Contains(t, failure, licence)
	require.NoError(t, os.WriteFile(licence, []byte("Mozilla Public License, version 2.0"), 0o600))
	list, _, failure := run(dir)
	require.Empty(t, failure)
	require.Contains(t, list, "| example.org/part | v1.0.0 | MPL-2.0 |")
}
