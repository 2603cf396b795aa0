// Package report has the command that joins results into one page.
package report

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/cometbft/cometbft/types"
	"github.com/spf13/cobra"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/cmd/internal/audit"
	"github.com/spdl/spdl/cmd/internal/cli/command"
	"github.com/spdl/spdl/cmd/internal/cli/prove"
	"github.com/spdl/spdl/cmd/internal/gain"
	"github.com/spdl/spdl/cmd/internal/history"
	"github.com/spdl/spdl/testnet"
	"github.com/spdl/spdl/testnet/experiment"
	"github.com/spdl/spdl/testnet/experiment/folds"
)

// Command returns the command that joins an experiment's files, or a chain's history, into one page.
func Command() *cobra.Command {
	o := &options{}
	cmd := command.New(&cobra.Command{
		Use:   "report DIR...",
		Short: "Join figures, or what chains did, into one HTML file",
		Long: "Join results into one HTML file that needs no network. DIR is a folder of `spdl-lab experiment`, the " +
			"home of a stopped node, or that\n" +
			"of a stopped localnet or rehearsal. A chain is replayed from its blocks, as `spdl audit replay` does, and the " +
			"model of every round is\n" +
			"measured on the test set of the node's worker, or by its trainer. --csv writes all rounds for other programs,\n" +
			"with a column run. Of a localnet with files of sites, as a rehearsal is, the page says what each site " +
			"gains by the\n" +
			"last model, as spdl model gain --home does. The page of several chains has their results, the parameters that " +
			"differ, and\n" +
			"their curves, except where the test sets or the units of epsilon differ.",
		Example: "  spdl-lab report build/figures\n" +
			"  spdl-lab testnet start --home ./net && spdl-lab report ./net --csv net.csv\n" +
			"  spdl-lab report ./net ./net-with-weights --out weights.html --csv weights.csv",
		Args: cobra.MinimumNArgs(1),
	}, o.run)
	command.Flag(cmd, &o.out, "out", "", "where the page goes (default: DIR/report.html; of several chains, to be named)")
	command.Flag(cmd, &o.csv, "csv", "", "CSV file to write, which must not exist: a row for each round of each chain")
	return cmd
}

type options struct{ out, csv string }

func (o *options) run(r *command.Run, args []string) error {
	if err := cmp.Or(command.CheckEnding("out", o.out, "it is an HTML page", ".html", ".htm"),
		command.CheckOut("csv", o.csv, "it holds a chain's rounds", ".csv")); err != nil {
		return err
	}
	for _, dir := range args {
		if _, err := os.Stat(dir); errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("there is no folder %s: want that of an experiment, a node, a localnet or a rehearsal", dir)
		}
	}
	var text []byte
	var err, found error
	if _, ok := homeIn(args[0]); ok || len(args) > 1 {
		text, found, err = o.chains(r, args)
	} else if text, err = experiment.Report(args[0]); err == nil && o.csv != "" {
		err = command.Usage(fmt.Errorf("--csv is of a chain's rounds, and %s holds figures, beside which are their CSV files",
			args[0]))
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
	return cmp.Or(r.Show(map[string]string{"file": path}, command.Line(path)), found)
}

// chains returns the page of the chains of stopped nodes, and the divergences that the replays found, if any. It writes
// the CSV file, if one is named.
func (o *options) chains(r *command.Run, dirs []string) (text []byte, found, err error) {
	if o.out == "" && len(dirs) > 1 {
		return nil, nil, command.Usage(errors.New("several chains: --out is missing, the page to write"))
	}
	of := history.Origin{Command: "spdl-lab report " + strings.Join(dirs, " ")}
	if of.Version, err = command.Build(); err != nil {
		return nil, nil, err
	}
	folders := make([]string, len(dirs))
	for i, dir := range dirs { // before the first replay, which may be long
		var ok bool
		if folders[i], ok = homeIn(dir); !ok {
			return nil, nil, command.Usage(fmt.Errorf("%s holds no chain, and only chains stand side by side", dir))
		}
	}
	var runs []history.Run
	points := [][]string{history.Columns}
	for i, dir := range dirs {
		h, m, doc, err := read(r, folders[i])
		if err == nil && len(dirs) == 1 {
			of.GenesisTime = doc.GenesisTime
			err = ofOne(r, &of, dir, folders[i], h, m)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", dir, err)
		}
		if d := h.Audit.Divergence; d != nil {
			found = errors.Join(found, fmt.Errorf("%s: %w", dir, d))
		}
		points = append(points, h.Rows(dir)...)
		runs = append(runs, history.Run{Name: dir, Chain: h, Attacks: m.Attackers(), Net: settingsOf(m)})
	}
	if len(runs) == 1 {
		text, err = history.Page(runs[0].Chain, of)
	} else {
		text, err = history.SideBySide(runs, of)
	}
	if err == nil && o.csv != "" {
		var out bytes.Buffer
		_ = csv.NewWriter(&out).WriteAll(points) // to memory
		err = command.WriteOut(o.csv, out.Bytes())
	}
	return text, found, err
}

// settingsOf returns what a localnet's manifest says and no parameter of its chain, none of another chain's.
func settingsOf(m testnet.Manifest) map[string]string {
	if m.Partition == "" {
		return nil
	}
	var attacks []string
	for _, x := range m.Attacks {
		attacks = append(attacks, fmt.Sprintf("%d=%s", x.Node, x.Kind))
	}
	of := map[string]string{"partition": m.Partition, "attacks": cmp.Or(strings.Join(attacks, ","), "none"),
		"seed": cmp.Or(strings.TrimPrefix(fmt.Sprint(m.Seed), "0"), "drawn: another run differs")}
	if m.Partition != testnet.Partitions[0] {
		of["partition"] += fmt.Sprintf(", alpha %g", m.Alpha)
	}
	return of
}

// homeIn returns the home of a chain's node in a folder: the folder itself, or the first home of a localnet, which may
// be a rehearsal's.
func homeIn(dir string) (folder string, ok bool) {
	if net := filepath.Join(dir, "net"); testnet.Made(net) {
		dir = net
	}
	if testnet.Made(dir) {
		dir = filepath.Join(dir, "node0")
	}
	_, err := os.Stat(filepath.Join(dir, "config", "genesis.json"))
	return dir, err == nil
}

// read replays the chain in the home of a stopped node, and measures its models. The manifest is that of its localnet.
func read(r *command.Run, folder string) (h *history.Chain, m testnet.Manifest, doc *types.GenesisDoc, err error) {
	c, a, err := home.Load(folder)
	if err == nil {
		m, err = testnet.Described(filepath.Dir(folder))
	}
	if err != nil {
		return nil, m, nil, err
	}
	if len(m.Sites) > 0 { // a node's own file is one site's
		a.Worker.Data = m.Data
	}
	src, err := audit.OpenHome(c)
	if errors.Is(err, os.ErrNotExist) {
		err = fmt.Errorf("%s has no chain yet: its node was never started", folder)
	}
	if err != nil {
		return nil, m, nil, err
	}
	e := home.EvaluatorOf(c, a.Worker)
	defer e.Close()
	defer func() { err = errors.Join(err, src.Close()) }()
	bar := prove.NewBar(r.Err)
	h, err = history.Read(r.Context, src, e, history.Most, bar.Show)
	bar.End()
	if errors.Is(err, context.Canceled) {
		err = errors.New("interrupted, no page is written")
	}
	return h, m, src.Genesis(), err
}

// ofOne adds to the origin of one chain's page what its folder and its localnet's manifest say: attacks and gains.
func ofOne(r *command.Run, of *history.Origin, dir, folder string, h *history.Chain, m testnet.Manifest) error {
	of.Attacks = m.Attackers()
	of.Gains.Head = gain.Head
	for i, file := range m.Sites {
		s := history.Site{Name: fmt.Sprintf("%s (#%d, %s)", h.State.Participants[i].Moniker, i, filepath.Base(file))}
		if g, err := siteGain(r.Context, filepath.Join(filepath.Dir(folder), fmt.Sprintf("node%d", i)), file, h); err == nil {
			s.About = fmt.Sprintf("%d of %d test rows are %s", g.Positives, g.Rows, g.Class)
			s.Verdict, s.Cells, s.NoneBeatsRate = g.Gain, g.Cells(), g.NoneBeatsRate()
		} else {
			s.Name += " (" + err.Error() + ")"
		}
		of.Gains.Sites = append(of.Gains.Sites, s)
	}
	var kept struct{ Lines []folds.Line }
	raw, err := os.ReadFile(filepath.Join(dir, "gains.json")) // of a rehearsal
	if err == nil {
		err = json.Unmarshal(raw, &kept)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return fmt.Errorf("%s: %w", filepath.Join(dir, "gains.json"), err)
	}
	of.Gains.Folds = history.Folds{Head: folds.Head, Rows: folds.Cells(kept.Lines), Says: folds.Says(kept.Lines),
		About: folds.About}
	raw, err = os.ReadFile(filepath.Join(folder, "config", "genesis.json"))
	of.GenesisHash = fmt.Sprintf("%x", sha256.Sum256(raw))
	return err
}

// siteGain measures what the last model gives to a site's file, an external one by the trainer of the site's home.
func siteGain(ctx context.Context, folder, file string, h *history.Chain) (g gain.Report, err error) {
	c, a, err := home.Load(folder)
	if err != nil {
		return g, err
	}
	a.Worker.Data = file
	e := home.EvaluatorOf(c, a.Worker)
	defer e.Close()
	return gain.Of(ctx, file, h.State.Params.Model, h.State.Model, 0, e, "")
}
