package compare

import (
	_ "embed"
	"encoding/csv"
	"fmt"
	"html/template"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"

	"github.com/spdl/spdl/internal/printable"
)

// Text prints both tables, and notes that a reader of them needs.
func (c *Comparison) Text(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(cells ...string) {
		for i, cell := range cells {
			if cell = printable.Text(cell); len(cell) > 40 {
				cell = cell[:37] + "..."
			}
			cells[i] = strings.ReplaceAll(cell, "\n", " ")
		}
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	names := c.row("", func(r Run) string { return r.Name }).Values
	line(append([]string{"result"}, names...)...)
	for _, row := range c.Results {
		line(append([]string{row.Name}, row.Values...)...)
	}
	if fmt.Fprintln(t); len(c.Differ) > 0 {
		line(append([]string{"differs"}, names...)...)
	}
	for _, row := range c.Differ {
		line(append([]string{row.Name}, row.Values...)...)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	if len(c.Differ) == 0 {
		fmt.Fprintln(w, "no parameter differs")
	}
	for _, r := range c.Runs {
		for _, note := range r.Notes {
			fmt.Fprintf(w, "note: %s: %s\n", printable.Text(r.Name), printable.Text(note))
		}
	}
	return nil
}

// CSV writes the points of all runs, one row each.
func (c *Comparison) CSV(w io.Writer) error {
	out := csv.NewWriter(w)
	rows := [][]string{{"run", "round", "seconds", "accuracy", "loss", "epsilon", "lowest_reputation", "round_seconds",
		"delta_norm", "included", "selected"}}
	full := func(x *float64) string {
		if x == nil {
			return ""
		}
		return strconv.FormatFloat(*x, 'g', -1, 64)
	}
	for _, r := range c.Runs {
		name := r.Name
		if strings.ContainsAny(name[:min(1, len(name))], "=+-@\t\r") {
			name = "'" + name // otherwise a spreadsheet takes it for a formula
		}
		for _, p := range r.Points {
			rows = append(rows, []string{name, full(&p.Round), full(&p.Seconds), full(p.Accuracy), full(p.Loss),
				full(p.Epsilon), full(p.Reputation), full(p.Took), full(p.Delta), strconv.Itoa(p.Included),
				strconv.Itoa(p.Selected)})
		}
	}
	return out.WriteAll(rows)
}

//go:embed compare.html
var pageText string

var page = template.Must(template.New("compare").Parse(pageText))

// Page writes one HTML file that loads no other files. Style is the style sheet; the page names
// command and version, which made it.
func (c *Comparison) Page(w io.Writer, style, command, version string) error {
	return page.Execute(w, struct {
		*Comparison
		Style            template.CSS
		Command, Version string
	}{c, template.CSS(style), command, version})
}
