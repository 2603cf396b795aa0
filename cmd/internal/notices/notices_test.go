package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestNoticesAreUpToDate: NOTICES.md names all modules that are in the program, at their
// versions, and each has its text in what is shipped.
func TestNoticesAreUpToDate(t *testing.T) {
	dir := t.TempDir()
	require.NoError(t, write(filepath.Join(dir, "list"), filepath.Join(dir, "text")))
	want, err := os.ReadFile(filepath.Join(dir, "list"))
	require.NoError(t, err)
	got, err := os.ReadFile("../../../NOTICES.md")
	require.NoError(t, err)
	require.True(t, string(want) == string(got), "NOTICES.md is not up to date: make notices writes it again")

	text, err := os.ReadFile(filepath.Join(dir, "text"))
	require.NoError(t, err)
	rows := 0
	for _, line := range strings.Split(string(got), "\n") {
		cells := strings.Split(line, " | ")
		if len(cells) != 3 || cells[0] == "| part" {
			continue
		}
		rows++
		require.Contains(t, string(text), "\n"+strings.TrimSpace(strings.TrimPrefix(cells[0], "| ")+" "+
			strings.TrimSpace(cells[1])), line)
	}
	require.Greater(t, rows, 100)
}

// TestPartWithoutLicence: a module whose licence is not known stops the page.
func TestPartWithoutLicence(t *testing.T) {
	_, err := licences(nil)
	require.ErrorContains(t, err, "no known licence")
	file := filepath.Join(t.TempDir(), "LICENSE")
	require.NoError(t, os.WriteFile(file, []byte("All rights reserved."), 0o600))
	_, err = licences([]string{file})
	require.ErrorContains(t, err, file)
}
