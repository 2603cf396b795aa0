package testnet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/light"
	"github.com/spdl/spdl/app/model/table"
	"github.com/spdl/spdl/cmd/internal/cli/command"
	"github.com/spdl/spdl/cmd/internal/gain"
	"github.com/spdl/spdl/cmd/internal/modelfile"
	"github.com/spdl/spdl/cmd/internal/modelfile/fetch"
	"github.com/spdl/spdl/krum/rules"
	"github.com/spdl/spdl/testnet"
	"github.com/spdl/spdl/testnet/experiment/folds"
)

// maxSites bounds the members of a rehearsal, whose nodes share one process, and maxFolds the parts that are left out.
const maxSites, maxFolds = 40, 20

// rehearsal is a training of a table on this machine, one member for each site.
type rehearsal struct {
	startOptions
	by             string
	members        int
	without        []string
	epsilons       []float64
	folds, repeats int

	folder string
	parts  []*table.Part
	study  folds.Study
	notes  []string // of the drafted schema
	kept   string   // besides what every rehearsal keeps
}

// site is what a rehearsal says of a member.
type site struct {
	table.Part
	Gain  *gain.Report `json:"gain"`            // on the test rows; null where there is none
	Error string       `json:"error,omitempty"` // why there is none
}

// Rehearse returns the command that trains a table as several sites would.
func Rehearse() *cobra.Command {
	o := &rehearsal{}
	cmd := command.New(&cobra.Command{
		Use:   "rehearse FILE...",
		Short: "Train CSV files as their sites would, say what each gains",
		Long: `Train CSV or Parquet files as their sites would, and say what each gains: before there is a consortium.

Each file is a site, named by it; columns that all files have, in any order, are inputs.
Of one file each text of the column --by is a site with its own rows; without it the
rows are dealt to --members, whole groups each. The schema is drafted from the files unless --schema is
given. Fewer than four sites withstand no attacker, so their rule is the mean. A localnet
in this process trains with the first epsilon, and its model is exported and verified.

Then a cross-validation trains again, without the network: every row is predicted by
models that did not train on it. The table at the end has a line for each site and
epsilon: the Brier score (less is better) and the AUC of the model that the site makes
alone, of the common one, of the common one adapted to the site's rows, and of one of all
rows in one place, which is not private. A site gains if its adapted model is better than
its own, and than guessing the rate; a sentence for each site claims no more than the
interval does. --folds 0 leaves it out, and compares on the site's test rows alone, as
spdl model gain does.

Labels that one site alone has, or that are alike, are an error where a drafted schema
has more than two. Texts of a column that no other site has are warned of.

With --home a folder keeps schema.json, gains.json, the model, the files of a column's
sites, and the net; otherwise all of it is temporary.`,
		Example: "  spdl-lab rehearse north.csv south.csv centre.csv --label outcome --epsilon 1,2\n" +
			"  spdl-lab rehearse patients.csv --label outcome --by hospital --group patient_id\n" +
			"  spdl-lab rehearse patients.csv --label outcome --members 7 --attack 0=sign-flip --home ./rehearsal",
		Args: cobra.MinimumNArgs(1),
	}, o.run)
	m := &o.Manifest
	command.TableFlags(cmd, &m.Label, &m.Group, &m.Schema, " (default: drafted from the file)")
	command.Flag(cmd, &o.by, "by", "", "column of the sites, a member for each of its texts; it is no input")
	command.Flag(cmd, &o.members, "members", 4, "without --by: number of members that share the rows").Positive()
	command.Flag(cmd, &o.without, "without", nil, "columns that are no inputs of a drafted schema")
	command.Flag(cmd, &o.epsilons, "epsilon", nil, "privacy budgets of each participant, as 1,2 (default: the preset's)")
	command.Flag(cmd, &o.folds, "folds", 5, "parts of each site's rows that are left out in turn, or 0")
	command.Flag(cmd, &o.repeats, "repeats", 0, "draws of folds and noise (default: 5, 1 from 10,000 rows on)").Positive()
	command.Flag(cmd, &m.Rounds, "rounds", 0, "rounds (default: the preset's)").Positive()
	command.Flag(cmd, &m.Rule, "rule", "", "aggregation rule (default: the preset's, with fewer than 4 sites mean)").
		Values(rules.Names()...)
	command.Flag(cmd, &o.attacks, "attack", nil, "sites that misbehave, as north=sign-flip, or by their order 0=sign-flip")
	command.Flag(cmd, &m.Seed, "seed", 0, "fix genesis and noise (NO PRIVACY; default: random)").Positive()
	command.Flag(cmd, &m.Force, "force", false, "train even with too few rows for the epsilon")
	return cmd
}

func (o *rehearsal) run(r *command.Run, args []string) (err error) {
	switch {
	case max(len(args), o.members) > maxSites:
		return command.Usage(fmt.Errorf("%d files, --members %d: want at most %d", len(args), o.members, maxSites))
	case len(args) > 1 && o.by != "" || r.Given(&o.members) && (len(args) > 1 || o.by != ""):
		return command.Usage(errors.New("want several files, --by or --members: each says what the sites are"))
	case o.Label == "" && o.Schema == "":
		return command.Usage(errors.New("--label is missing: the column of the labels, or --schema"))
	case o.folds < 0 || o.folds == 1 || o.folds > maxFolds:
		return command.Usage(fmt.Errorf("--folds is %d, want 2 to %d, or 0 for none", o.folds, maxFolds))
	case slices.ContainsFunc(o.epsilons, func(epsilon float64) bool { return !(epsilon > 0) }):
		return command.Usage(fmt.Errorf("--epsilon is %v, want numbers above 0", o.epsilons))
	}
	o.folder = r.Home
	if r.Named {
		if entries, _ := os.ReadDir(o.folder); len(entries) > 0 { // a folder that cannot be read cannot be written
			return command.Usage(fmt.Errorf("%s is not empty, it has %s: name a new folder", o.folder, entries[0].Name()))
		}
	} else if o.folder, err = os.MkdirTemp("", "spdl-rehearsal-"); err != nil {
		return err
	}
	n, err := o.prepare(r, args)
	if err != nil || !r.Named { // what was wrong leaves nothing in the way of what is right
		defer func() { err = errors.Join(err, os.RemoveAll(o.folder)) }()
	}
	if err != nil {
		return err
	}
	warn(r, n)
	o.inProcess, o.then = true, func(ctx context.Context, n *testnet.Net) error { return o.finish(ctx, r, n) }
	p := n.Genesis.Params
	return o.startOptions.run(r.Context, r, n, &testnet.Reporter{Out: r.Out, JSON: r.JSON, Rounds: p.Training.Rounds,
		Delta: p.Privacy.Delta, TestChain: p.TestChain, Model: p.Model})
}

// finish exports and verifies the model, and says what each site gains.
func (o *rehearsal) finish(ctx context.Context, r *command.Run, n *testnet.Net) error {
	f, data, err := o.export(ctx, n)
	if err != nil {
		return err
	}
	v, err := verified(ctx, n, data)
	if err != nil {
		return err
	}
	out := struct {
		Type     string            `json:"type"` // "rehearsal"
		Verified modelfile.Verdict `json:"verified"`
		Sites    []site            `json:"sites"`
		Lines    []folds.Line      `json:"lines"`           // without folds, null
		Says     []string          `json:"says"`            // of each site's lines
		Notes    []string          `json:"notes,omitempty"` // of the drafted schema
	}{"rehearsal", v, nil, nil, nil, o.notes}
	for _, p := range o.parts {
		s := site{Part: *p}
		if g, err := gain.Of(ctx, p.Path, f.Card.Model, f.Parameters, 0, nil, ""); err == nil {
			s.Gain = &g
			if !r.Named { // the folder is temporary
				g.Data = strings.TrimPrefix(g.Data, o.folder+string(filepath.Separator))
			}
		} else {
			s.Error = err.Error()
		}
		out.Sites = append(out.Sites, s)
	}
	if o.folds > 0 && gain.Measures(f.Card.Model) {
		fmt.Fprintf(r.Err, "cross-validation: folds %d, draws of them %d, epsilons %d: %d trainings more, in this process\n",
			o.folds, o.study.Repeats, len(o.study.Params), o.folds*o.study.Repeats*len(o.study.Params))
		if out.Lines, err = o.study.Run(ctx); err != nil {
			return err
		}
		out.Says = folds.Says(out.Lines)
	}
	text, err := json.Marshal(out)
	if err == nil {
		err = command.WriteOut(filepath.Join(o.folder, "gains.json"), append(text, '\n'))
	}
	if err == nil && r.JSON {
		_, err = fmt.Fprintf(r.Out, "%s\n", text)
	}
	if err != nil || r.JSON {
		return err
	}
	if out.Lines != nil {
		command.Table(r.Out, strings.ToUpper(strings.Join(folds.Head, "\t")), folds.Cells(out.Lines),
			func(row []string) string { return strings.Join(row, "\t") })
		fmt.Fprintf(r.Out, "%s\n\n%s\n", strings.ReplaceAll(folds.About, ". ", ".\n"), strings.Join(out.Says, "\n"))
	} else if gain.Measures(f.Card.Model) {
		for _, s := range out.Sites {
			fmt.Fprintf(r.Out, "\n%s\n", command.Plain(s.Name))
			if s.Gain == nil {
				fmt.Fprintln(r.Out, "no report:", command.Plain(s.Error))
				continue
			}
			s.Gain.Text(r.Out)
		}
	}
	for _, note := range out.Notes {
		fmt.Fprintln(r.Out, "note:", command.Plain(note))
	}
	fmt.Fprintf(r.Out, "\nverified      %s, at epsilon %g, by the hash of its header that another node has\n", v.Key,
		n.Genesis.Params.Privacy.Epsilon)
	if r.Named {
		fmt.Fprintf(r.Out, "report        spdl-lab report %[1]s writes %[1]s/report.html\n"+
			"gain pages    spdl-lab testnet start --home %[1]s/net --stay goes on with the net, and beside it spdl explorer "+
			"--eval --gain --home %[1]s/net/node0 has the page of node 0's site\n"+
			"kept in       %[1]s: gains.json, schema.json%[2]s, and the model: spdl model gain %[1]s/model.safetensors "+
			"--home %[1]s/net/node0\n", r.HomeText, o.kept)
	}
	return nil
}

// export returns the last model with its file, and keeps the file in the folder.
func (o *rehearsal) export(ctx context.Context, n *testnet.Net) (*modelfile.File, []byte, error) {
	c, err := client.New(n.Nodes[n.Manifest.HonestFirst()[0]].RPC)
	if err != nil {
		return nil, nil, err
	}
	s, err := c.Status(ctx)
	if err != nil {
		return nil, nil, err
	}
	f, err := fetch.File(ctx, c, s.Epoch, s.Round-1, func(uint64, uint64) {})
	if err != nil {
		return nil, nil, err
	}
	data, err := f.Encode(modelfile.Safetensors)
	if err != nil {
		return nil, nil, err
	}
	return f, data, command.WriteOut(filepath.Join(o.folder, "model.safetensors"), data)
}

// verified verifies a file as spdl verify model --offline does: by the hash that another node, the last one, has of the
// header to which the file's proof leads.
func verified(ctx context.Context, n *testnet.Net, data []byte) (v modelfile.Verdict, err error) {
	f, err := modelfile.Open("model.safetensors", data, n.Manifest.ChainID)
	if err != nil {
		return v, err
	}
	header, err := f.Header()
	if err != nil {
		return v, err
	}
	c, err := client.New(n.Nodes[len(n.Nodes)-1].RPC)
	if err != nil {
		return v, err
	}
	commit, err := c.RPC().Commit(ctx, &header.Height)
	if err != nil {
		return v, err
	}
	return f.Offline(light.Trust{Height: header.Height, Hash: commit.Hash()})
}
