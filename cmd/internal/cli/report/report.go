// Package report has the command that joins results into one page.
package report

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/cmd/internal/audit"
	cliaudit "github.com/spdl/spdl/cmd/internal/cli/audit"
	"github.com/spdl/spdl/cmd/internal/cli/command"
	"github.com/spdl/spdl/cmd/internal/history"
	"github.com/spdl/spdl/testnet"
	"github.com/spdl/spdl/testnet/experiment"
)

// Command returns the command that joins an experiment's files, or a chain's history, into one
// page.
func Command() *cobra.Command {
	o := &options{}
	cmd := command.New(&cobra.Command{
		Use:   "report DIR",
		Short: "Join the figures of a folder, or what a chain did, into one HTML file that needs no network",
		Long: "Join results into one HTML file that needs no network. DIR is a folder of `spdl-figures experiment`, the " +
			"home of a stopped node, or that\n" +
			"of a stopped localnet. A chain is replayed from its blocks, as `spdl audit replay` does, and the model of " +
			"every round is\n" +
			"measured on the test set of the node's worker, or by its trainer.",
		Example: "  spdl-figures report build/figures\n  spdl testnet start --home ./net && spdl-figures report ./net",
		Args:    cobra.ExactArgs(1),
	}, o.run)
	command.Flag(cmd, &o.file, "file", "", "where the page goes (default: DIR/report.html)")
	return cmd
}

type options struct{ file string }

func (o *options) run(r *command.Run, args []string) error {
	var page []byte
	var err, found error
	if home, ok := chainHome(args[0]); ok {
		page, found, err = chainReport(r, args[0], home)
	} else {
		page, err = experiment.Report(args[0])
	}
	if err != nil {
		return err
	}
	path := o.file
	if path == "" {
		path = filepath.Join(args[0], "report.html")
	}
	if err := os.WriteFile(path, page, 0o644); err != nil {
		return err
	}
	if err := r.Show(map[string]string{"file": path}, command.Line(path)); err != nil {
		return err
	}
	return found
}

// chainHome returns the home of a chain's node in a folder: the folder itself, or the first
// home of a localnet.
func chainHome(dir string) (home string, ok bool) {
	if testnet.Made(dir) {
		dir = filepath.Join(dir, "node0")
	}
	_, err := os.Stat(filepath.Join(dir, "config", "genesis.json"))
	return dir, err == nil
}

// chainReport returns the page of a stopped node's chain, and the divergence that the replay found,
// if any.
func chainReport(r *command.Run, dir, folder string) (page []byte, found, err error) {
	c, a, err := home.Load(folder)
	if err != nil {
		return nil, nil, err
	}
	e := home.EvaluatorOf(c, a.Worker)
	defer e.Close()
	version, err := command.Build()
	if err != nil {
		return nil, nil, err
	}
	src, err := audit.OpenHome(c)
	switch {
	case errors.Is(err, os.ErrNotExist):
		return nil, nil, fmt.Errorf("%s has no chain yet: its node was never started", folder)
	case err != nil:
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, src.Close()) }()
	bar := cliaudit.NewBar(r.Err)
	chain, err := history.Read(r.Context, src, e, bar.Show)
	bar.End()
	if errors.Is(err, context.Canceled) {
		err = errors.New("interrupted, no page is written")
	}
	if err != nil {
		return nil, nil, err
	}
	page, err = chain.Page("spdl-figures report "+dir, version)
	if chain.Audit.Divergence != nil { // a nil *Divergence would be a non-nil error
		found = chain.Audit.Divergence
	}
	return page, found, err
}
