package experiment

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/cometbft/cometbft/libs/tempfile"

	"github.com/spdl/spdl/testnet/experiment/figure"
)

// Summary is the content of NAME.json, for the report.
type Summary struct {
	Name    string        `json:"name"`
	Title   string        `json:"title"`
	Paper   string        `json:"paper,omitempty"`
	Quick   bool          `json:"quick"`
	Seconds float64       `json:"seconds"` // of all cells, one after another
	Cells   int           `json:"cells"`
	Notes   []figure.Note `json:"notes"`
	Table   Table         `json:"table"`
	Reruns  []Rerun       `json:"reruns,omitempty"`
}

// notes returns the provenance of a file. Trainings that ran in process alone are said to be so.
func (r Runner) notes(e Experiment, inProcess bool) []figure.Note {
	kind := map[bool]string{true: "QUICK RUN: fewer rounds and cells, not for citing", false: "full run"}[r.Quick]
	seeds := fmt.Sprint(r.first())
	if n := r.seedsOf(e); n > 1 {
		reads := e.Reads
		if reads == "" {
			reads = "means, with bands and, in the table, ranges from the least to the greatest"
		}
		seeds = fmt.Sprintf("%d to %d: %s", r.first(), r.first()+n-1, reads)
	}
	if r.Validation {
		kind += ", measured on a sixth of the training set that nobody trains on"
	}
	if inProcess {
		kind += ", not repeated on real nodes"
	}
	notes := []figure.Note{
		{Name: "title", Text: e.Title}, {Name: "command", Text: r.Command}, {Name: "seed", Text: seeds},
		{Name: "version", Text: r.Version}, {Name: "kind", Text: kind},
	}
	if e.X != "" {
		notes = append(notes, figure.Note{Name: "x", Text: e.X})
	}
	return notes
}

// files writes NAME.csv, .svg and .json.
func (r Runner) files(e Experiment, results Results, reruns []Rerun) error {
	f, table := e.draw(results)
	if e.Name == attacks.Name {
		e.Title += ": " + strings.Join(append(results.panels(), "up to "+results.attackers()+" attack"), "; ")
	}
	e.Title += "; " + results.rounds()
	f.Title += ", " + results.rounds()
	if r.Quick {
		f.Foot = "quick run: fewer rounds and cells, not for citing"
	}
	trains := slices.ContainsFunc(results, func(x Result) bool { return x.Cell.Learn != nil })
	notes := r.notes(e, trains && len(reruns) == 0)
	svg, err := f.Draw(notes)
	if err != nil {
		return err
	}
	s := Summary{Name: e.Name, Title: e.Title, Paper: e.Paper, Quick: r.Quick, Cells: len(results), Notes: notes,
		Table: table, Reruns: reruns}
	for _, x := range results {
		s.Seconds += x.Seconds
	}
	raw, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return err
	}
	for ext, content := range map[string][]byte{"csv": table2csv(results, notes), "svg": svg, "json": raw} {
		if err := tempfile.WriteFileAtomic(filepath.Join(r.Dir, e.Name+"."+ext), content, 0o644); err != nil {
			return err
		}
	}
	return nil
}

// rounds formats the cells' numbers of rounds.
func (r Results) rounds() string {
	least, most := uint64(math.MaxUint64), uint64(0)
	for _, x := range r {
		n := uint64(0)
		switch {
		case x.Cell.Learn != nil:
			n = x.Cell.Learn.Params.Training.Rounds
		case x.Cell.Latency != nil:
			n = x.Cell.Latency.Rounds
		}
		least, most = min(least, n), max(most, n)
	}
	if least < most {
		return fmt.Sprintf("%d to %d rounds", least, most)
	}
	return fmt.Sprintf("%d rounds", most)
}

// table2csv returns every row of every cell, after the notes as comments.
func table2csv(results Results, notes []figure.Note) []byte {
	var out bytes.Buffer
	for _, n := range notes {
		fmt.Fprintf(&out, "# %s: %s\n", n.Name, strings.ReplaceAll(n.Text, "\n", " "))
	}
	w := csv.NewWriter(&out)
	for i, x := range results {
		if i == 0 {
			_ = w.Write(append([]string{"panel", "series", "x", "rule", "attack", "n", "byzantine", "seed"}, x.Columns...))
		}
		rule, attack, n, byzantine := "", "", "", ""
		if s := x.Cell.Learn; s != nil {
			rule, attack, n, byzantine = s.Params.Rule.Name, s.Attack, strconv.Itoa(s.Nodes), strconv.Itoa(s.Byzantine)
		} else if l := x.Cell.Latency; l != nil {
			n = strconv.Itoa(l.Nodes)
		}
		for _, line := range x.Rows {
			record := []string{x.Cell.Panel, x.Cell.Series, strconv.FormatFloat(x.Cell.X, 'g', -1, 64), rule, attack, n,
				byzantine, strconv.FormatUint(x.Seed, 10)}
			for _, v := range line {
				record = append(record, strconv.FormatFloat(v, 'g', 8, 64))
			}
			_ = w.Write(record) // a buffer takes everything
		}
	}
	w.Flush()
	return out.Bytes()
}
