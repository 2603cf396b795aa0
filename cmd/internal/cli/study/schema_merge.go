package study

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/spdl/spdl/app/model/table"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/cmd/internal/cli/command"
)

func mergeCommand() *cobra.Command {
	var out string
	var without []string
	cmd := command.New(&cobra.Command{
		Use:   "merge DRAFT.json DRAFT.json...",
		Short: "Make one schema of those that members drafted, who do not show each other their rows",
		Long: `Make one schema of those that members drafted, who do not show each other their rows.

A column has the categories of all, and the widest bounds. Typical values and the rate
are means by rows, if each file is the JSON of spdl schema draft -o json, which says
the rows; otherwise medians, which one member alone hardly moves. Shares of categories
are means. All in which the files contradict each other is in one error.`,
		Example: "  spdl schema merge north.json south.json centre.json --out schema.json",
		Args:    cobra.MinimumNArgs(2),
	}, func(r *command.Run, args []string) error {
		return show(r, out, args, "patients.csv", func() (table.Draft, error) { return merge(args, without) })
	})
	command.Flag(cmd, &without, "without", nil, "columns to leave out, as those that one member has not")
	command.Flag(cmd, &out, "out", "", "JSON file to write, which must not exist (default: standard output)")
	return cmd
}

// members are the drafts that are merged. weights are their shares of all rows, equal where one does not say its rows.
type members struct {
	files   []string
	drafts  []table.Draft
	weights []float64
	byRows  bool
}

// merge makes one draft of several. Its error has all in which they contradict each other.
func merge(files, without []string) (out table.Draft, err error) {
	m := members{files: files, byRows: true}
	var names, apart, problems []string
	for i, file := range files {
		var d table.Draft
		data, err := os.ReadFile(file)
		if err == nil && (json.Unmarshal(bytes.TrimPrefix(data, []byte("\ufeff")), &d) != nil || d.Schema.Label == "") {
			d.Schema, err = Read(file)
		}
		if err != nil {
			return out, err
		}
		m.drafts, m.byRows, out.Rows = append(m.drafts, d), m.byRows && d.Rows > 0, out.Rows+d.Rows
		for _, c := range d.Schema.Columns {
			if !slices.Contains(slices.Concat(names, without), c.Name) {
				names = append(names, c.Name)
			}
		}
		if ours, theirs := head(m.drafts[0].Schema), head(d.Schema); ours != theirs {
			problems = append(problems, fmt.Sprintf("%s has %s; %s has %s", files[0], ours, files[i], theirs))
		}
	}
	out.Notes = []string{"typical values and the rate are means by rows"}
	if !m.byRows {
		out.Rows, out.Notes[0] = 0, "typical values and the rate are medians: not each file says its rows"
	}
	for _, d := range m.drafts {
		m.weights = append(m.weights, 1/float64(len(files)))
		if m.byRows {
			m.weights[len(m.weights)-1] = float64(d.Rows) / float64(out.Rows)
		}
	}
	first := m.drafts[0].Schema
	out.Schema = params.Table{Label: first.Label, Group: first.Group, Classes: first.Classes, Weights: first.Weights}
	out.Schema.Rate = m.combine(func(i int) float64 {
		t := m.drafts[i].Schema
		if t.Rate > 0 && !slices.Equal(t.Classes, first.Classes) {
			return 1 - t.Rate
		}
		return cmp.Or(t.Rate, math.NaN())
	}, 0)
	for _, name := range names {
		column, err := m.column(name)
		if out.Schema.Columns = append(out.Schema.Columns, column); err != nil {
			problems, apart = append(problems, err.Error()), append(apart, name)
		}
	}
	if len(first.Classes) < 2 || len(names) == 0 {
		problems = append(problems, "no column is left, or fewer than two classes")
	}
	if len(problems) > 0 {
		return out, fmt.Errorf("the schemas contradict each other: %s: write these alike in the members' files and draft "+
			"again, or leave columns out by --without %s", strings.Join(problems, "; "), strings.Join(apart, ","))
	}
	own := preset.Data{Table: &out.Schema, Classes: len(first.Classes), Examples: 1}
	_, err = preset.Make(preset.Names()[0], len(files), preset.Own{Data: &own}) // checks the table
	return out, err
}

// head says in what schemas must be the same besides their columns.
func head(t params.Table) string {
	return fmt.Sprintf("label %q, group %q, classes %q, weights %v", t.Label, t.Group,
		slices.Sorted(slices.Values(t.Classes)), t.Weights)
}

// column merges the columns of a name. Categories that are numbers become numbers where another file has some.
func (m members) column(name string) (out params.Column, err error) {
	all, of := make([]params.Column, len(m.files)), map[string][]string{} // the files with "no column", and so on
	for i, file := range m.files {
		kind := "no column"
		columns := m.drafts[i].Schema.Columns
		if at := slices.IndexFunc(columns, func(c params.Column) bool { return c.Name == name }); at >= 0 {
			all[i] = columns[at]
			kind = map[bool]string{true: "numbers", false: "categories"}[len(all[i].Values) == 0]
		}
		of[kind] = append(of[kind], file)
	}
	out.Name = name
	var missing params.Missing
	for i, c := range all {
		if of["numbers"] != nil && asNumbers(&c) {
			all[i] = c
		}
		if len(of["no column"]) > 0 || of["numbers"] != nil && len(c.Values) > 0 {
			text := fmt.Sprintf("column %q", name)
			for _, kind := range slices.Sorted(maps.Keys(of)) {
				text += fmt.Sprintf(", %s in %s", kind, strings.Join(of[kind], " and "))
			}
			return out, errors.New(text)
		}
		if i == 0 {
			out.Low, out.High = c.Low, c.High
		}
		out.Low, out.High, out.Others = min(out.Low, c.Low), max(out.High, c.High), out.Others || c.Others
		for k, v := range c.Values {
			share := 1 / float64(len(c.Values))
			if len(c.Shares) == len(c.Values) {
				share = c.Shares[k]
			}
			if !slices.Contains(out.Values, v) {
				out.Values, out.Shares = append(out.Values, v), append(out.Shares, 0)
			}
			out.Shares[slices.Index(out.Values, v)] += m.weights[i] * share
		}
		if c.Missing != nil {
			out.Missing, missing.Indicator = &missing, missing.Indicator || c.Missing.Indicator
		}
	}
	const steps = 1000 // of a share, rounded down: their sum is at most 1
	for i, share := range out.Shares {
		out.Shares[i] = math.Floor(share*steps+1e-6) / steps
	}
	nan, fill := math.NaN(), out.Low+(out.High-out.Low)/2 // the fill where no member says one
	typical := m.combine(func(i int) float64 { return *cmp.Or(all[i].Typical, &nan) }, nan)
	if !math.IsNaN(typical) {
		out.Typical, fill = &typical, typical
	}
	missing.Fill = m.combine(func(i int) float64 { return cmp.Or(all[i].Missing, &params.Missing{Fill: nan}).Fill }, fill)
	if missing.Indicator {
		missing.Share = m.combine(func(i int) float64 { return cmp.Or(all[i].Missing, &params.Missing{}).Share }, 0)
	}
	return out, nil
}

// combine returns the mean by rows, or the median where not each file says its rows, of the members' values that are no
// NaN, with four digits, and none if no member has one.
func (m members) combine(value func(member int) float64, none float64) float64 {
	var all []float64
	sum, weights := 0., 0.
	for i, weight := range m.weights {
		if x := value(i); !math.IsNaN(x) {
			all, sum, weights = append(all, x), sum+weight*x, weights+weight
		}
	}
	if len(all) == 0 {
		return none
	}
	slices.Sort(all)
	x := (all[len(all)/2] + all[(len(all)-1)/2]) / 2
	if m.byRows {
		x = sum / weights
	}
	x, _ = strconv.ParseFloat(strconv.FormatFloat(x, 'g', 4, 64), 64) // it is a number
	return min(max(x, all[0]), all[len(all)-1])
}

// asNumbers makes a column of numbers of one of categories that are all numbers, and reports whether they are.
func asNumbers(c *params.Column) bool {
	out := params.Column{Low: math.Inf(1), High: math.Inf(-1)}
	for _, v := range c.Values {
		x, err := strconv.ParseFloat(v, 64)
		if err != nil || x-x != 0 {
			return false
		}
		out.Low, out.High = min(out.Low, x), max(out.High, x)
	}
	if c.Others { // a text that is missing is none of the categories
		out.Missing = &params.Missing{Fill: math.NaN()}
	}
	if len(c.Values) > 0 {
		*c = out
	}
	return true
}
