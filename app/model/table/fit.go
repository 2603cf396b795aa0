package table

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spdl/spdl/app/params"
)

// Fit says how the rows of a file fit a table. Shares are of the rows.
type Fit struct {
	File    string         `json:"file"`
	Rows    int            `json:"rows"`
	Units   int            `json:"units"`  // groups, or rows without groups
	Labels  map[string]int `json:"labels"` // rows of each class
	Columns []Fitted       `json:"columns"`
	Faults  []string       `json:"faults,omitempty"` // why the file cannot be read by the table, or not usefully
}

// Fitted says how a column fits.
type Fitted struct {
	Name    string   `json:"name"`
	Mean    float64  `json:"mean"` // of numbers, missing and beyond the bounds as they are read
	Missing float64  `json:"missing"`
	Clipped float64  `json:"clipped"`          // numbers beyond the bounds
	Unknown float64  `json:"unknown"`          // texts that are no value of the table
	Unseen  []string `json:"unseen,omitempty"` // values of the table that no row has
	Counts  []int    `json:"-"`                // rows of each value of the table
}

// FitOf reads a file of any size by a table.
func FitOf(path string, t params.Table) (Fit, error) {
	f, err := stream(path)
	if err != nil {
		return Fit{}, err
	}
	defer f.close()
	out := Fit{File: path, Labels: map[string]int{}, Columns: make([]Fitted, len(t.Columns))}
	n, err := f.groupNumbers(t.Group)
	if err != nil {
		return out, err
	}
	at := make([]int, len(t.Columns))
	for i, c := range t.Columns {
		at[i], err = f.column(c.Name)
		out.Columns[i].Name, out.Columns[i].Counts = c.Name, make([]int, len(c.Values))
		if err != nil {
			return out, err
		}
	}
	label, err := f.column(t.Label)
	for more := err == nil; more; {
		if more, err = f.readRow(); err != nil || !more {
			break
		}
		n.numberOf(f)
		if class := strings.TrimSpace(f.row[label]); slices.Contains(t.Classes, class) {
			out.Labels[strings.Clone(class)]++
		} else {
			f.note(label, f.errorf(label, "the label is none of %s", strings.Join(t.Classes, ", ")))
		}
		for i, c := range t.Columns {
			out.Columns[i].add(f, at[i], c)
		}
	}
	for i, c := range t.Columns {
		out.Columns[i].finish(float64(max(1, f.rows)), c)
		if x := out.Columns[i]; x.Unknown > (1-x.Missing)/2 {
			f.note(at[i], &fault{text: fmt.Sprintf("column %q: %.3g %% of its texts are none of %s, want at most half: write "+
				"them as the schema does, or correct the schema's values", c.Name, 100*x.Unknown/(1-x.Missing), sample(c.Values))})
		}
	}
	out.Rows, out.Units, out.Faults = f.rows, n.units(f), f.faults
	return out, err
}

// add adds the current row's value. The shares are counts, and the mean a sum, until finish.
func (x *Fitted) add(f *file, at int, c params.Column) {
	text := strings.TrimSpace(f.row[at])
	if !f.faulty[at] {
		var err error
		if f.levels, err = f.appendLevels(f.levels[:0], at, c); err != nil {
			f.note(at, err)
		}
	}
	switch {
	case isMissing(text):
		x.Missing++
		if c.Missing != nil {
			x.Mean += c.Missing.Fill
		}
	case len(c.Values) == 0:
		number, _ := f.parse(text) // what is none is a fault
		if read := min(max(number, c.Low), c.High); read != number {
			x.Clipped++
			number = read
		}
		x.Mean += number
	default:
		if which := f.category(text, c.Values); which >= 0 {
			x.Counts[which]++
		} else {
			x.Unknown++
		}
	}
}

// finish divides by the rows.
func (x *Fitted) finish(rows float64, c params.Column) {
	x.Mean, x.Missing, x.Clipped, x.Unknown = x.Mean/rows, x.Missing/rows, x.Clipped/rows, x.Unknown/rows
	for i, v := range c.Values {
		if x.Counts[i] == 0 {
			x.Unseen = append(x.Unseen, v)
		}
	}
}

// Apart returns a warning for each column in which a file seems to write otherwise than the others. More than half of
// its texts are none of the table's values, or values that no other of the files has; or a twentieth is of these, and
// none is a value that a twentieth of each other file's texts are.
func Apart(fits []Fit, t params.Table) (list []string) {
	for at, f := range fits {
		for _, x := range f.Faults {
			list = append(list, f.File+": "+x)
		}
		for i, c := range t.Columns {
			own, lacks, rows, all := []string{}, []string{}, 0, f.Columns[i].texts()
			for k, n := range f.Columns[i].Counts {
				others := slices.Delete(slices.Clone(fits), at, at+1)
				has := func(g Fit) bool { return g.Columns[i].Counts[k] > 0 }
				rarely := func(g Fit) bool { return few*g.Columns[i].Counts[k] < max(few, g.Columns[i].texts()) }
				if n > 0 && !slices.ContainsFunc(others, has) {
					own, rows = append(own, c.Values[k]), rows+n
				} else if n == 0 && !slices.ContainsFunc(others, rarely) {
					lacks = append(lacks, c.Values[k])
				}
			}
			if len(fits) == 1 || 2*rows <= all && (few*rows < max(few, all) || len(lacks) == 0) {
				continue
			}
			text := fmt.Sprintf("%s: column %q: %.3g %% of its texts no other file has, as %s", f.File, c.Name,
				100*float64(rows)/float64(all), sample(own))
			if len(lacks) > 0 {
				text += ", and none is " + strings.Join(lacks, " or ") + " as in all others"
			}
			list = append(list, text+": write them alike, or leave the column out")
		}
	}
	return list
}

// few is the inverse of the share of a file's texts from which a value is no rare one.
const few = 20

// texts returns the number of texts that are values of the table.
func (x Fitted) texts() (n int) {
	for _, rows := range x.Counts {
		n += rows
	}
	return n
}
