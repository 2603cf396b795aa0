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

// maxCell is the max number of bytes of a cell of the text's table.
const maxCell = 40

// Text prints one table, what differs and then the results, and notes that a reader of it needs. With
// two runs the last column has the difference of numbers.
func (c *Comparison) Text(w io.Writer) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	line := func(name string, values []string, last string) {
		cells := append(append([]string{name}, values...), last)
		for i, cell := range cells {
			cells[i] = shortened(cell)
		}
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	blank := make([]string, len(c.Runs))
	last := ""
	if len(c.Runs) == 2 {
		last = "difference"
	}
	line("", c.row("", func(r Run) string { return r.Name }).Values, last)
	line("WHAT DIFFERS", blank, "")
	for _, row := range c.Differ {
		line("  "+row.Name, row.Values, difference(row.Values))
	}
	if len(c.Differ) == 0 {
		line("  no parameter", blank, "")
	}
	line("RESULTS", blank, "")
	for _, row := range c.Results {
		line("  "+row.Name, row.Values, difference(row.Values))
	}
	if err := t.Flush(); err != nil {
		return err
	}
	for _, r := range c.Runs {
		for _, note := range r.Notes {
			fmt.Fprintf(w, "note: %s: %s\n", printable.Text(r.Name), printable.Text(note))
		}
	}
	return nil
}

// shortened returns a text as one printable line of at most maxCell bytes.
func shortened(text string) string {
	if text = strings.ReplaceAll(printable.Text(text), "\n", " "); len(text) > maxCell {
		return strings.ToValidUTF8(text[:maxCell-3], "") + "..."
	}
	return text
}

// difference returns the second of two numbers less the first, with its sign, and "" if there are not
// two different numbers. Text after a number, as "of 10000", does not count.
func difference(values []string) string {
	if len(values) != 2 {
		return ""
	}
	var x [2]float64
	for i, text := range values {
		number, unit, _ := strings.Cut(text, " ")
		var err error
		if x[i], err = strconv.ParseFloat(number, 64); err != nil || unit != "" && !strings.HasPrefix(unit, "of ") {
			return ""
		}
	}
	if by := x[1] - x[0]; by != 0 {
		return fmt.Sprintf("%+.4g", by)
	}
	return ""
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
