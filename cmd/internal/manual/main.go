// Command manual writes the manual pages of spdl and its completions for shells, as cobra makes
// them of the commands themselves, into DIR/man and DIR/completions.
//
//	go run ./cmd/internal/manual DIR
package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"

	"github.com/spdl/spdl/abci/version"
	"github.com/spdl/spdl/cmd/internal/cli"
	"github.com/spdl/spdl/cmd/internal/cli/lab"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: manual DIR")
		os.Exit(2)
	}
	if err := write(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, "manual:", err)
		os.Exit(1)
	}
}

func write(dir string) error {
	// A home of no user, so that the pages show the reader's default of --home.
	if err := os.Setenv("HOME", "$HOME"); err != nil {
		return err
	}
	man, completions := filepath.Join(dir, "man"), filepath.Join(dir, "completions")
	for _, d := range []string{man, completions} {
		if err := os.MkdirAll(d, 0o755); err != nil {
			return err
		}
	}
	header := &doc.GenManHeader{Section: "1", Source: "spdl " + version.Version, Manual: "SPDL"}
	for _, root := range []*cobra.Command{cli.Root(io.Discard, io.Discard), lab.Root(io.Discard, io.Discard)} {
		root.DisableAutoGenTag = true // the tag would hold the day
		if err := doc.GenManTree(root, header, man); err != nil {
			return err
		}
		for name, generate := range shells(root) {
			if err := generate(filepath.Join(completions, name)); err != nil {
				return err
			}
		}
	}
	return nil
}

// shells returns the files of completions, by the names under which shells look for them.
func shells(root *cobra.Command) map[string]func(file string) error {
	return map[string]func(string) error{
		root.Name() + ".bash": func(file string) error { return root.GenBashCompletionFileV2(file, true) },
		"_" + root.Name():     root.GenZshCompletionFile,
		root.Name() + ".fish": func(file string) error { return root.GenFishCompletionFile(file, true) },
		root.Name() + ".ps1":  root.GenPowerShellCompletionFileWithDesc,
	}
}
