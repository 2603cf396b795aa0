package testnet

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/app/model/table"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/cli/command"
	"github.com/spdl/spdl/cmd/internal/cli/study"
	"github.com/spdl/spdl/testnet"
	"github.com/spdl/spdl/testnet/experiment/folds"
)

// prepare makes the schema, the sites' files, the study and the net.
func (o *rehearsal) prepare(r *command.Run, files []string) (n *testnet.Net, err error) {
	file, folder := files[0], filepath.Join(o.folder, "sites")
	if err := os.MkdirAll(o.folder, 0o700); err != nil {
		return nil, err
	}
	if len(files) > 1 {
		file = filepath.Join(o.folder, "all.csv")
		o.kept = ", all.csv (the rows of all sites, on which the report measures: delete it after that)"
		if o.parts, err = table.Join(files, file, folder); err != nil {
			return nil, err
		}
	}
	drafted := o.Schema == ""
	if err := o.describe(r, files); err != nil {
		return nil, err
	}
	t, err := study.Read(o.Schema)
	for i := 0; i < len(files) && err == nil; i++ { // an error names the file as it is named, and its line
		_, err = table.Units(files[i], t)
	}
	if err == nil {
		err = o.split(r, file, folder, t.Group)
	}
	if err == nil {
		err = o.compare(r, files, t, drafted)
	}
	if err != nil {
		return nil, err
	}
	o.study = folds.Study{Attacks: map[int]string{}, Folds: o.folds, Seed: cmp.Or(o.Seed, 1)}
	for _, a := range o.Attacks {
		o.study.Attacks[a.Node] = a.Kind
	}
	for i := range max(1, len(o.epsilons)) { // before the net, which may take long
		one := o.Manifest
		if len(o.epsilons) > 0 {
			one.Epsilon, o.Epsilon = o.epsilons[i], o.epsilons[0]
		}
		p, err := one.Parameters()
		if err != nil {
			return nil, err
		}
		o.study.Params = append(o.study.Params, p)
	}
	rows := 0
	for _, p := range o.parts {
		data, err := home.LoadData(p.Path, o.study.Params[0].Model)
		if err != nil {
			return nil, err
		}
		o.study.Sites, o.study.Names = append(o.study.Sites, folds.Pool(data.Train, data.Test)), append(o.study.Names, p.Name)
		rows += p.Rows
	}
	if o.study.Repeats = cmp.Or(o.repeats, 5); o.repeats == 0 && rows >= 10_000 {
		o.study.Repeats = 1
	}
	return testnet.Init(o.Manifest)
}

// describe drafts the schema, unless one is given.
func (o *rehearsal) describe(r *command.Run, files []string) error {
	m := &o.Manifest
	if m.Schema != "" {
		if m.Label+m.Group != "" || len(o.without) > 0 {
			return command.Usage(errors.New("--schema with --label, --group or --without: the schema has them"))
		}
		return nil
	}
	if o.by != "" {
		o.without = append(o.without, o.by)
	}
	d, err := study.Draft(files, m.Label, m.Group, o.without...)
	if err != nil {
		return err
	}
	text, err := study.Encode(d.Schema)
	if err != nil {
		return err
	}
	for _, c := range d.Columns {
		if c.Spoiled > 0 {
			return fmt.Errorf("column %q: %s, or leave the column out by --without %[1]q", c.Name, c.Note)
		}
	}
	m.Schema, m.Label, m.Group = filepath.Join(o.folder, "schema.json"), "", ""
	study.Text(r.Err, files, d)
	o.notes = d.Notes
	return command.WriteOut(m.Schema, text)
}

// split makes a member for each site, and a file unless it has one.
func (o *rehearsal) split(r *command.Run, file, folder, group string) (err error) {
	m, most := &o.Manifest, maxSites
	if o.by == "" {
		most = o.members
	}
	if o.parts == nil {
		if o.parts, err = table.Split(file, o.by, group, folder, most); err != nil {
			return err
		}
	}
	m.Validators, m.Data, m.Home, m.Memory = len(o.parts), file, filepath.Join(o.folder, "net"), !r.Named
	var names []string
	for i, p := range o.parts {
		m.Sites, names = append(m.Sites, p.Path), append(names, p.Name)
		fmt.Fprintf(r.Err, "node %d is %s, %d rows\n", i, command.Plain(p.Name), p.Rows)
	}
	switch m.Attacks, err = testnet.ParseAttacks(o.attacks, names...); {
	case err != nil:
		return command.Usage(fmt.Errorf("--attack: %w", err))
	case len(o.parts) < 2:
		return fmt.Errorf("%s: %d site, want at least 2", file, len(o.parts))
	case params.MaxByzantine(len(o.parts)) == 0 && m.Rule == "":
		m.Rule = "mean"
		fmt.Fprintf(r.Err, "%d sites withstand no attacker (N >= 3f+1), so the rule is the mean\n", len(o.parts))
	}
	return nil
}

// compare warns of sites whose texts no other has, and of more than two classes. It fails where a drafted schema has
// them and they look like a mistake: one site alone has a label, or two labels are alike.
func (o *rehearsal) compare(r *command.Run, files []string, t params.Table, drafted bool) error {
	fits, owners, strays := []table.Fit{}, map[string][]table.Fit{}, table.Doubts(t.Classes, nil)
	for i, p := range o.parts {
		fit, err := table.FitOf(p.Path, t)
		if err != nil {
			return err
		}
		if fit.File = files[min(i, len(files)-1)]; len(files) == 1 {
			fit.File += ", site " + p.Name
		}
		fits = append(fits, fit)
		for class := range fit.Labels {
			owners[class] = append(owners[class], fit)
		}
	}
	for _, text := range table.Apart(fits, t) {
		r.Warn(text)
	}
	for _, class := range t.Classes {
		if has := owners[class]; len(has) == 1 {
			strays = append(strays, fmt.Sprintf("%s alone has %q (rows: %d)", has[0].File, class, has[0].Labels[class]))
		}
	}
	if len(t.Classes) > 2 && drafted && len(strays) > 0 {
		return fmt.Errorf("column %q has %d labels, %q, want 2: %s. Write one as another, or leave these rows out; if they "+
			"are classes, `spdl schema draft` makes a schema for --schema", t.Label, len(t.Classes), t.Classes,
			strings.Join(strays, "; "))
	} else if len(t.Classes) > 2 {
		r.Warn(fmt.Sprintf("%d classes, %q: what a site gains is known of two alone, and no gain is reported", len(t.Classes),
			t.Classes))
	}
	return nil
}
