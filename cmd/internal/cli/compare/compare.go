// Package compare has the commands that compare chains: as tables and curves, and as TensorBoard's
// events.
package compare

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/cometbft/cometbft/types"
	"github.com/spf13/cobra"

	cliaudit "github.com/spdl/spdl/cmd/internal/cli/audit"
	"github.com/spdl/spdl/cmd/internal/cli/chain"
	"github.com/spdl/spdl/cmd/internal/cli/command"
	"github.com/spdl/spdl/cmd/internal/compare"
	"github.com/spdl/spdl/cmd/internal/explorer"
	"github.com/spdl/spdl/cmd/internal/history"
	"github.com/spdl/spdl/testnet"
)

// Command returns the command that compares runs.
func Command() *cobra.Command {
	o := &options{}
	cmd := command.New(&cobra.Command{
		Use:   "compare RUN RUN...",
		Short: "Set runs side by side: results, differences, curves",
		Long: `Set runs side by side: results, what differs, and curves in one HTML file.

A RUN is the home of a stopped node or localnet, an archive of spdl audit archive,
the address of a node, as tcp://127.0.0.1:26657, or a file of an earlier
spdl compare -o json. @N behind a chain takes epoch N alone. Every chain is
executed again from its blocks, and its models are measured.`,
		Example: `  spdl compare ./net-krum ./net-median --out compare.html
  spdl compare ./net@0 ./net@1                      # two epochs of a chain
  spdl compare ./net chain.spdl tcp://127.0.0.1:26657 --csv points.csv`,
		Args: cobra.MinimumNArgs(1),
	}, o.run)
	o.models.Flags(cmd)
	command.Flag(cmd, &o.out, "out", "", "HTML file to write, with the curves; it needs no network, and must not exist")
	command.Flag(cmd, &o.csv, "csv", "", "CSV file to write, which must not exist: a row for each round of each run")
	return cmd
}

type options struct {
	models   command.Models
	out, csv string
}

func (o *options) run(r *command.Run, args []string) error {
	if err := cmp.Or(o.checkFiles(), distinct(args)); err != nil {
		return err
	}
	if err := checkRuns(r, args, o.models); err != nil {
		return err
	}
	var runs []compare.Run
	for _, arg := range args {
		more, err := runsOf(r, arg, o.models)
		if err != nil {
			return fmt.Errorf("%s: %w", arg, err)
		}
		runs = append(runs, more...)
	}
	c, err := compare.New(runs)
	if err != nil {
		return command.Usage(err)
	}
	version, err := command.Build()
	if err != nil {
		return err
	}
	for _, file := range []struct {
		path  string
		write func(*bytes.Buffer) error
	}{
		{o.out, func(b *bytes.Buffer) error {
			return c.Page(b, explorer.Style(), "spdl compare "+strings.Join(args, " "), version)
		}},
		{o.csv, func(b *bytes.Buffer) error { return c.CSV(b) }},
	} {
		if file.path == "" {
			continue
		}
		var b bytes.Buffer
		if err := file.write(&b); err != nil {
			return err
		}
		if err := command.WriteOut(file.path, b.Bytes()); err != nil {
			return err
		}
		fmt.Fprintln(r.Err, "wrote", file.path)
	}
	return r.Show(c, c.Text)
}

// checkFiles returns an error if a file to write exists, or has the ending of another kind.
func (o *options) checkFiles() error {
	return cmp.Or(
		command.CheckOut("out", o.out, "it is an HTML page, and --csv writes the points", ".html", ".htm"),
		command.CheckOut("csv", o.csv, "it holds the points as CSV, and --out writes the page", ".csv"))
}

// checkRuns rejects runs that cannot stand side by side before any chain is replayed, as far as files and
// genesis say it. compare.New rejects the others.
func checkRuns(r *command.Run, args []string, o command.Models) error {
	var known []compare.Run
	for _, arg := range args {
		runs, err := saved(arg)
		if runs == nil && err == nil {
			runs, err = begun(r, arg, o)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", arg, err)
		}
		for _, run := range runs {
			if err := compare.Compatible(known, run); err != nil {
				return command.Usage(err)
			}
			known = append(known, run)
		}
	}
	if len(known) < 2 {
		return command.Usage(compare.ErrFew)
	}
	return nil
}

// begun returns what the genesis says of a chain's run. Its model is that of the genesis if the run has no
// other epoch than the first, and unknown otherwise.
func begun(r *command.Run, arg string, o command.Models) ([]compare.Run, error) {
	where, epoch, err := split(arg)
	if err != nil {
		return nil, err
	}
	doc, later, err := chain.Genesis(r, where, o)
	if err != nil {
		return nil, err
	}
	run, err := compare.Begun(nameOf(arg), doc, epoch)
	if epoch != nil && *epoch > 0 || epoch == nil && later {
		run.Model = ""
	}
	return []compare.Run{run}, err
}

// distinct rejects a run that is given twice, before any chain is replayed.
func distinct(args []string) error {
	seen := map[string]string{}
	for _, arg := range args {
		path := arg
		if !strings.Contains(arg, "://") {
			path = filepath.Clean(arg)
		}
		if other, ok := seen[path]; ok {
			return command.Usage(fmt.Errorf("%w: %s and %s", compare.ErrSame, other, arg))
		}
		seen[path] = arg
	}
	return nil
}

// runsOf returns the run in an argument, or the runs in a file of an earlier comparison.
func runsOf(r *command.Run, arg string, o command.Models) ([]compare.Run, error) {
	if runs, err := saved(arg); runs != nil || err != nil {
		return runs, err
	}
	where, epoch, err := split(arg)
	if err != nil {
		return nil, err
	}
	h, doc, err := read(r, where, o, history.Most)
	if err != nil {
		return nil, err
	}
	one, err := compare.Of(nameOf(arg), h, doc, epoch)
	if err != nil {
		return nil, err
	}
	one.Attacks, one.Perturbations, err = testnet.Faults(where)
	return []compare.Run{one}, err
}

// saved returns the runs in a file that -o json has written, nil if the argument is not such a
// file.
func saved(path string) ([]compare.Run, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, nil // the argument is another kind of run
	}
	defer f.Close()
	first := make([]byte, 1)
	if _, err := f.ReadAt(first, 0); err != nil || first[0] != '{' {
		return nil, nil
	}
	var c compare.Comparison
	if err := json.NewDecoder(f).Decode(&c); err != nil {
		return nil, err
	}
	for _, run := range c.Runs {
		if len(run.Points) == 0 {
			return nil, fmt.Errorf("%w: run %q", history.ErrEmpty, run.Name)
		}
	}
	if len(c.Runs) == 0 {
		return nil, errors.New("there is no run in this file; want one of spdl compare -o json")
	}
	return c.Runs, nil
}

// split cuts @N, the number of an epoch, off an argument.
func split(arg string) (where string, epoch *uint64, err error) {
	at := strings.LastIndexByte(arg, '@')
	if at < 0 {
		return arg, nil, nil
	}
	if _, err := os.Stat(arg); err == nil {
		return arg, nil, nil // a folder of that name
	}
	n, err := strconv.ParseUint(arg[at+1:], 10, 63)
	if err != nil {
		return "", nil, command.Usage(fmt.Errorf("behind @ is %q, want the number of an epoch", arg[at+1:]))
	}
	return arg[:at], &n, nil
}

// nameOf returns the name of a run: the last part of its path, or the whole address of a node.
func nameOf(arg string) string {
	if strings.Contains(arg, "://") {
		return arg[strings.Index(arg, "://")+3:]
	}
	if full, err := filepath.Abs(arg); err == nil {
		arg = full
	}
	return strings.TrimSuffix(filepath.Base(arg), ".spdl")
}

// read replays a chain. most has the meaning that it has for history.Read.
func read(r *command.Run, where string, o command.Models, most int) (h *history.Chain, doc *types.GenesisDoc,
	err error) {
	src, e, err := chain.Open(r, where, o)
	if err != nil {
		return nil, nil, err
	}
	defer e.Close()
	defer func() { err = errors.Join(err, src.Close()) }()
	bar := cliaudit.NewBar(r.Err)
	h, err = history.Read(r.Context, src, e, most, bar.Show)
	bar.End()
	if errors.Is(err, context.Canceled) {
		err = errors.New("interrupted, nothing is written")
	}
	return h, src.Genesis(), err
}
