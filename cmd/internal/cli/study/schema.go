package study

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/spdl/spdl/app/model/table"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/cmd/internal/cli/command"
)

// Schema returns the group of commands.
func Schema() *cobra.Command {
	return command.Group("schema", "Draft a table's schema, merge schemas, check files by one",
		draftCommand(), mergeCommand(), schemaCheck())
}

// public marks what a draft would publish.
const public = "BECOMES PUBLIC: LOOK AT THESE"

type draftOptions struct {
	label, group, out string
	without           []string
}

func draftCommand() *cobra.Command {
	o := &draftOptions{}
	cmd := command.New(&cobra.Command{
		Use:   "draft FILE...",
		Short: "Draft one schema of CSV files: types, categories, missing values, bounds, rate",
		Long: `Draft one schema of all rows of CSV or Parquet files: types, categories, missing values, bounds,
rate. Members that may not show each other rows draft each, for spdl schema merge.

Files are read twice, and may have any size; commas, semicolons, tabs or | separate
values. Bounds, typical values, shares and the rate are rounded, and still come from
these rows: no epsilon pays for them, and they become public when members agree on
the schema. Look at each, and write what is known without the rows in its place.
COVERED are the rows whose value is neither missing, nor beyond the bounds, nor none
of the categories. Columns that are no inputs are left out, each with its reason.`,
		Example: "  spdl schema draft patients.csv --label outcome --group patient_id --out schema.json\n" +
			"  spdl schema draft north.csv south.csv --label outcome -o json > both.json",
		Args: cobra.MinimumNArgs(1),
	}, o.run)
	command.Flag(cmd, &o.label, "label", "", "column of the labels").Required()
	command.Flag(cmd, &o.group, "group", "", "column that names the group of a row, as patient_id")
	command.Flag(cmd, &o.without, "without", nil, "columns that are no inputs, as those that are known only afterwards")
	command.Flag(cmd, &o.out, "out", "", "JSON file to write, which must not exist (default: standard output, and what "+
		"is said of the columns to standard error)")
	return cmd
}

func (o *draftOptions) run(r *command.Run, args []string) error {
	return show(r, o.out, args, strings.Join(args, " "), func() (table.Draft, error) {
		return Draft(args, o.label, o.group, o.without...)
	})
}

// show makes a draft of files, and writes its schema to a file, or without one to standard output. next are the files
// that it is for.
func show(r *command.Run, out string, files []string, next string, draft func() (table.Draft, error)) (err error) {
	if out != "" {
		err = command.CheckOut("out", out, "it is a schema", ".json")
	}
	var d table.Draft
	if err == nil {
		d, err = draft()
	}
	if err != nil {
		return err
	}
	text, err := Encode(d.Schema)
	if err == nil && out != "" {
		err = command.WriteOut(out, text)
	}
	if err != nil {
		return err
	}
	if out == "" && !r.JSON {
		Text(r.Err, files, d)
	}
	return r.Show(d, func(w io.Writer) {
		if out == "" {
			_, _ = w.Write(text)
			return
		}
		Text(w, files, d)
		fmt.Fprintf(w, "written: %s; next: %s schema check %[1]s %[3]s\n", out, command.Program("spdl"), next)
	})
}

// Draft drafts the schema of files, and says which share of their rows each input covers.
func Draft(files []string, label, group string, without ...string) (table.Draft, error) {
	d, err := table.DraftSchema(files, label, group, without...)
	for i := 0; i < len(files) && err == nil; i++ {
		var fit table.Fit
		fit, err = table.FitOf(files[i], d.Schema)
		for _, class := range d.Schema.Classes {
			if err == nil && fit.Labels[class] == 0 {
				d.Notes = append(d.Notes, fmt.Sprintf("%s has no row with the label %q: do all files write labels alike?", files[i],
					class))
			}
		}
		for _, x := range fit.Columns {
			c := &d.Columns[slices.IndexFunc(d.Columns, func(c table.Drafted) bool { return c.Name == x.Name })]
			const digits = 1e9 // the rest is of the sums
			part := float64(fit.Rows) / float64(d.Rows)
			c.Covered = math.Round((c.Covered+(1-x.Missing-x.Clipped-x.Unknown)*part)*digits) / digits
		}
	}
	return d, err
}

// Read reads a schema's file.
func Read(path string) (params.Table, error) {
	d, err := preset.Source{Schema: path}.Read()
	if err != nil {
		return params.Table{}, err
	}
	return *d.Table, nil
}

// Encode returns a schema's file, with a line for each column.
func Encode(t params.Table) ([]byte, error) {
	columns := t.Columns
	t.Columns = nil
	var b bytes.Buffer
	to := json.NewEncoder(&b)
	to.SetEscapeHTML(false) // "<=20" as it is
	err := to.Encode(t)
	for _, c := range columns {
		err = cmp.Or(err, to.Encode(c))
	}
	if err != nil {
		return nil, err
	}
	head, lines, _ := strings.Cut(strings.ReplaceAll(strings.TrimSpace(b.String()), "\n", ",\n  "), ",\n")
	lines = strings.ReplaceAll(lines, `"low":0,"high":0,"values"`, `"values"`) // the ends are of numbers
	return []byte(strings.Replace(head, `"columns":null`, `"columns":[`+"\n"+lines+"\n]", 1) + "\n"), nil
}

// Text writes what is said of a draft.
func Text(w io.Writer, files []string, d table.Draft) {
	fmt.Fprintf(w, "%s: %s rows", strings.Join(files, ", "), cmp.Or(strings.TrimPrefix(fmt.Sprint(d.Rows), "0"), "?"))
	if d.Units > 0 && d.Schema.Group != "" {
		fmt.Fprintf(w, " of %d groups", d.Units)
	}
	fmt.Fprintln(w)
	if len(d.Columns) > 0 { // merged schemas have none
		command.Table(w, "COLUMN\tIS\tMISSING\tCOVERED\tNOTE\t"+public, d.Columns, func(c table.Drafted) string {
			return fmt.Sprintf("%s\t%s\t%.3g %%\t%.3g %%\t%s\t%s", command.Plain(c.Name), c.Kind, 100*c.Missing, 100*c.Covered,
				command.Plain(c.Note), command.Plain(c.Public))
		})
	}
	for _, note := range d.Notes {
		fmt.Fprintln(w, "note:", command.Plain(note))
	}
}

// checked is what schema check shows.
type checked struct {
	Schema      string      `json:"schema"`
	Files       []table.Fit `json:"files"`
	Differences []string    `json:"differences,omitempty"` // of other schemas
}

func schemaCheck() *cobra.Command {
	return command.New(&cobra.Command{
		Use:   "check SCHEMA.json [SCHEMA.json|FILE]...",
		Short: "Check CSV files, and other schemas, against a schema",
		Long: `Check CSV or Parquet files, and other schemas, against a schema.

For each column of a file it says how many rows have no value, a number beyond the
bounds, or a text that the schema does not know, and which values no row has. Files of
several sites stand side by side. It ends with 1 if a file cannot be read by the
schema, if more than half of a column's texts are unknown, or if another schema
differs.`,
		Example: "  spdl schema check schema.json north.csv south.csv\n  spdl schema check ours.json theirs.json",
		Args:    cobra.MinimumNArgs(1),
	}, check)
}

func check(r *command.Run, args []string) error {
	out := checked{Schema: args[0], Files: []table.Fit{}}
	t, err := Read(args[0])
	if err != nil {
		return err
	}
	wrong := 0
	for _, path := range args[1:] {
		if strings.EqualFold(filepath.Ext(path), ".json") {
			other, err := Read(path)
			if err != nil {
				return err
			}
			diff, err := differences(t, other)
			if err != nil {
				return err
			}
			out.Differences = append(out.Differences, diff...)
			continue
		}
		fit, err := table.FitOf(path, t)
		if err != nil {
			return err
		}
		out.Files, wrong = append(out.Files, fit), wrong+len(fit.Faults)
	}
	if err := r.Show(out, func(w io.Writer) { out.text(w, t) }); err != nil {
		return err
	}
	var faults, differ error
	if wrong > 0 {
		faults = fmt.Errorf("%d faults: correct the files, or give the schema a missing, others, values or columns", wrong)
	}
	if n := len(out.Differences); n > 0 {
		differ = fmt.Errorf("%d differences between schemas, want none: members agree on one file, and train by it; `spdl "+
			"schema merge` makes one of theirs", n)
	}
	return errors.Join(faults, differ)
}

// differences returns the lines of two schemas' files that only one has: members train one model with equal ones.
func differences(a, b params.Table) (list []string, err error) {
	var files [2][]string
	for i, t := range []params.Table{a, b} {
		text, err := Encode(t)
		if err != nil {
			return nil, err
		}
		files[i] = strings.Split(strings.ReplaceAll(string(text), "},\n", "}\n"), "\n")
	}
	for i, mark := range []string{"- ", "+ "} {
		for _, line := range files[i] {
			if !slices.Contains(files[1-i], line) {
				list = append(list, mark+strings.TrimLeft(line, " ],"))
			}
		}
	}
	if len(list) == 0 && !slices.Equal(files[0], files[1]) {
		list = []string{"the order of the columns"}
	}
	return list, nil
}

func (c checked) text(w io.Writer, t params.Table) {
	fmt.Fprintf(w, "%s: %d columns, %d inputs, classes %s\n", c.Schema, len(t.Columns), t.Inputs(),
		command.Plain(strings.Join(t.Classes, ", ")))
	for _, f := range c.Files {
		fmt.Fprintf(w, "%s: %d rows, %d units;", f.File, f.Rows, f.Units)
		for _, class := range t.Classes {
			fmt.Fprintf(w, " %s %.1f %%", command.Plain(class), 100*float64(f.Labels[class])/float64(max(1, f.Rows)))
		}
		fmt.Fprintln(w)
	}
	tab := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if len(c.Files) > 0 {
		fmt.Fprintln(tab, "COLUMN\tFILE\tMEAN\tMISSING\tCLIPPED\tUNKNOWN\tNO ROW HAS")
	}
	for i, column := range t.Columns {
		for _, f := range c.Files {
			x, mean := f.Columns[i], "-"
			if len(column.Values) == 0 {
				mean = fmt.Sprintf("%.4g", x.Mean)
			}
			fmt.Fprintf(tab, "%s\t%s\t%s\t%.3g %%\t%.3g %%\t%.3g %%\t%s\n", command.Plain(x.Name), filepath.Base(f.File), mean,
				100*x.Missing, 100*x.Clipped, 100*x.Unknown, command.Plain(strings.Join(x.Unseen, ", ")))
		}
	}
	_ = tab.Flush()
	for _, f := range c.Files {
		for _, x := range f.Faults {
			fmt.Fprintf(w, "fault: %s %s\n", f.File, command.Plain(x))
		}
	}
	for _, x := range c.Differences {
		fmt.Fprintln(w, "differs:", command.Plain(x))
	}
}
