package main

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/cmd/internal/cli"
	"github.com/spdl/spdl/cmd/internal/cli/lab"
)

// TestManual: every command that is not hidden has a page, which explains each of its flags, and
// nothing of the machine that made the page. Bash understands the completions, where it is
// installed.
func TestManual(t *testing.T) {
	home, err := os.UserHomeDir()
	require.NoError(t, err)
	t.Setenv("HOME", home) // write sets it
	dir := t.TempDir()
	require.NoError(t, write(dir))
	pages := 0
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		if !cmd.IsAvailableCommand() && cmd.HasParent() {
			return
		}
		pages++
		data, err := os.ReadFile(filepath.Join(dir, "man", strings.ReplaceAll(cmd.CommandPath(), " ", "-")+".1"))
		require.NoError(t, err)
		page := strings.ReplaceAll(string(data), `\-`, "-")
		cmd.NonInheritedFlags().VisitAll(func(f *pflag.Flag) {
			require.True(t, f.Hidden || strings.Contains(page, "--"+f.Name), "%s --%s", cmd.CommandPath(), f.Name)
		})
		require.NotContains(t, page, home, cmd.CommandPath())
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(cli.Root(io.Discard, io.Discard))
	walk(lab.Root(io.Discard, io.Discard))
	require.Greater(t, pages, 60)

	for _, name := range []string{"spdl.bash", "_spdl", "spdl.fish", "spdl.ps1", "spdl-lab.bash"} {
		text, err := os.ReadFile(filepath.Join(dir, "completions", name))
		require.NoError(t, err)
		require.Contains(t, string(text), "__complete", name)
	}
	if bash, err := exec.LookPath("bash"); err == nil {
		out, err := exec.Command(bash, "-n", filepath.Join(dir, "completions", "spdl.bash")).CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
}
