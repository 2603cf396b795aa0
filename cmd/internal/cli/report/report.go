// Package report has the command that joins results into one page.
package report

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	cliaudit "github.com/spdl/spdl/cmd/internal/cli/audit"
	"github.com/spdl/spdl/cmd/internal/cli/chain"
	"github.com/spdl/spdl/cmd/internal/cli/command"
	"github.com/spdl/spdl/cmd/internal/history"
	"github.com/spdl/spdl/cmd/internal/history/page"
	"github.com/spdl/spdl/testnet"
	"github.com/spdl/spdl/testnet/experiment"
)

// Command returns the command that joins an experiment's files, or a chain's history, into one
// page.
func Command() *cobra.Command {
	o := &options{}
	cmd := command.New(&cobra.Command{
		Use:   "report DIR",
		Short: "Join figures, or what a chain did, into one HTML file",
		Long: "Join results into one HTML file that needs no network. DIR is a folder of `spdl-figures experiment`, the " +
			"home of a stopped node, or that\n" +
			"of a stopped localnet. A chain is replayed from its blocks, as `spdl audit replay` does, and the model of " +
			"every round is\n" +
			"measured on the test set of the node's worker, or by its trainer.",
		Example: "  spdl-figures report build/figures\n  spdl testnet start --home ./net && spdl-figures report ./net",
		Args:    cobra.ExactArgs(1),
	}, o.run)
	command.Flag(cmd, &o.out, "out", "", "where the page goes (default: DIR/report.html)")
	command.Flag(cmd, &o.out, "file", "", "the name of --out in release 0.1")
	cobra.CheckErr(cmd.Flags().MarkHidden("file"))
	return cmd
}

type options struct{ out string }

func (o *options) run(r *command.Run, args []string) error {
	if err := command.CheckEnding("out", o.out, "it is an HTML page", ".html", ".htm"); err != nil {
		return err
	}
	var text []byte
	var err, found error
	if _, ok := chain.Home(args[0]); ok {
		text, found, err = chainReport(r, args[0])
	} else {
		text, err = experiment.Report(args[0])
	}
	if err != nil {
		return err
	}
	path := o.out
	if path == "" {
		path = filepath.Join(args[0], "report.html")
	}
	if err := os.WriteFile(path, text, 0o644); err != nil {
		return err
	}
	if err := r.Show(map[string]string{"file": path}, command.Line(path)); err != nil {
		return err
	}
	return found
}

// chainReport returns the page of a stopped node's chain, and the divergence that the replay found,
// if any.
func chainReport(r *command.Run, dir string) (text []byte, found, err error) {
	version, err := command.Build()
	if err != nil {
		return nil, nil, err
	}
	src, e, err := chain.Open(r, dir, command.Models{})
	if err != nil {
		return nil, nil, err
	}
	defer e.Close()
	defer func() { err = errors.Join(err, src.Close()) }()
	bar := cliaudit.NewBar(r.Err)
	h, err := history.Read(r.Context, src, e, history.Most, bar.Show)
	bar.End()
	if errors.Is(err, context.Canceled) {
		err = errors.New("interrupted, no page is written")
	}
	if err != nil {
		return nil, nil, err
	}
	o := page.Origin{Command: "spdl-figures report " + dir, Version: version, GenesisTime: src.Genesis().GenesisTime}
	if o.Attacks, err = testnet.Attackers(dir); err != nil {
		return nil, nil, err
	}
	if o.GenesisHash, err = genesisHash(dir); err != nil {
		return nil, nil, err
	}
	text, err = page.Of(h, o)
	if h.Audit.Divergence != nil { // a nil *Divergence would be a non-nil error
		found = h.Audit.Divergence
	}
	return text, found, err
}

// genesisHash returns the SHA-256 of the file of a home's genesis, in hexadecimal.
func genesisHash(dir string) (string, error) {
	folder, _ := chain.Home(dir)
	raw, err := os.ReadFile(filepath.Join(folder, "config", "genesis.json"))
	sum := sha256.Sum256(raw)
	return hex.EncodeToString(sum[:]), err
}
