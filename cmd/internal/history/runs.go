package history

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/explorer/pages"
	"github.com/spdl/spdl/internal/printable"
)

// Run is a chain's history under a name. Of a localnet its manifest has the kinds of attack, by participant, and what
// no parameter says: values by name, as partition.
type Run struct {
	Name string
	*Chain
	Attacks map[uint32]string
	Net     map[string]string
}

func (r Run) last() Round { return r.Rounds[len(r.Rounds)-1] }

// SideBySide returns a page with the results of runs, what differs between their settings, and their curves, those
// left out that are on other test sets or in other units.
func SideBySide(runs []Run, o Origin) ([]byte, error) {
	c := content{Origin: o, Several: len(runs), About: "Every chain was executed again from its blocks."}
	var err error
	if c.Tables, err = besides(runs); err != nil {
		return nil, err
	}
	for _, r := range runs {
		for _, f := range (chain{r.Chain, Origin{Attacks: r.Attacks}}).fates() {
			c.Fates = append(c.Fates, fate{r.Name + ": " + f.Name, f.Text, f.Apart})
			c.Apart = c.Apart || f.Apart
		}
		if m := r.last().Measures; m != nil {
			for _, w := range m.Warnings {
				c.Warnings = append(c.Warnings, r.Name+": "+w)
			}
		}
	}
	tests, units := unlike(runs, testSet), unlike(runs, unit)
	if slices.ContainsFunc(runs, func(r Run) bool { return r.Params.Model.Classes == 0 }) { // external
		tests = unlike(runs, func(r Run) string { return fmt.Sprintf("%d test examples", r.last().Tested) })
	}
	for _, f := range []struct {
		pages.Figure
		unlike string
		of     func(Round) float64
	}{
		{pages.Figure{Name: "accuracy", Title: "Test accuracy", Share: true, Top: 1}, tests,
			func(r Round) float64 { return r.Accuracy }},
		{pages.Figure{Name: "auc", Title: "AUC", Share: true, Top: 1}, tests,
			func(r Round) float64 { return r.Beside()[2] }},
		{pages.Figure{Name: "epsilon", Title: "Epsilon spent", Spent: true}, units,
			func(r Round) float64 { return r.Epsilon }},
	} {
		f.Across, f.Legend = "rounds closed", "A line for each run."
		for _, r := range runs {
			line := pages.Curve{Name: r.Name}
			for _, x := range r.Rounds {
				line.Rounds, line.Values = append(line.Rounds, uint64(x.At)), append(line.Values, f.of(x))
			}
			f.Curves = append(f.Curves, line)
		}
		switch drawn, err := f.HTML(); {
		case err != nil:
			return nil, err
		case drawn == "": // no run has the measure
		case f.unlike != "":
			c.Warnings = append(c.Warnings, fmt.Sprintf("No common curve of %s: %s.", f.Title, f.unlike))
		default:
			c.Figures = append(c.Figures, drawn)
		}
	}
	return c.page()
}

// testSet says on what a run's models are measured.
func testSet(r Run) string {
	classes := fmt.Sprintf("%d classes", r.Params.Model.Classes)
	if t := r.Params.Model.Table; t != nil {
		classes = printable.Line(t.Label + " as " + strings.Join(t.Classes, ", "))
	}
	return fmt.Sprintf("%d test examples of %s", r.last().Tested, classes)
}

// unit says what a run's epsilon is of.
func unit(r Run) string {
	return fmt.Sprintf("epsilon by %s at delta %g", cmp.Or(r.Params.Privacy.Unit, "example"), r.Params.Privacy.Delta)
}

// unlike returns the values of a property that is not the same in all runs, "" if it is.
func unlike(runs []Run, of func(Run) string) string {
	all := map[string]bool{}
	for _, r := range runs {
		all[of(r)] = true
	}
	if len(all) == 1 {
		return ""
	}
	return strings.Join(slices.Sorted(maps.Keys(all)), " and ")
}

// derived are parameters that a preset computes of the others or of the data, by the beginnings of their names.
var derived = []string{"election.", "grid.", "model.classes", "model.features.hash", "model.inputs", "model.no_bias",
	"model.pixel_", "model.pool", "privacy.batch", "privacy.budget", "privacy.cost",
	"privacy.noise_multiplier", "reputation.", "rule.byzantine"}

// besides returns the tables of results and of settings that differ: those that somebody sets, and derived ones. Of
// more than two runs the cells are marked whose value is not that of the first run.
func besides(runs []Run) ([]table, error) {
	done := table{ID: "results", Title: "Results", Head: []string{"run", "rounds", "rule", "participants", "test accuracy",
		"guessing", "recall", "AUC", "Brier score", "epsilon"}}
	head, settings, first := []string{"setting"}, map[string][]string{}, runs[0].Params
	for i, r := range runs {
		done.Rows = append(done.Rows, append([]string{r.Name, strconv.FormatUint(r.Audit.Rounds, 10), r.Params.Rule.Name,
			strconv.Itoa(r.State.Active())}, results(r.last())...))
		head = append(head, r.Name)
		changes, err := params.Changes(first, r.Params)
		if err != nil {
			return nil, err
		}
		set := func(name, otherwise, value string) {
			if settings[name] == nil {
				settings[name] = slices.Repeat([]string{otherwise}, len(runs))
			}
			settings[name][i] = value
		}
		for _, x := range changes {
			set(x.Name, x.Before, x.After)
		}
		for name, value := range r.Net {
			set(name, "-", value)
		}
	}
	differs := table{ID: "differs", Title: "What differs", Head: head}
	follows := table{ID: "follows", Title: "What follows from it", Head: head, Folded: true,
		About: "Parameters that a preset computes of the others or of the data, unless somebody sets them."}
	if len(runs) > 2 {
		differs.About = "≠ marks what is not as in " + runs[0].Name + "."
	}
	for _, name := range slices.Sorted(maps.Keys(settings)) {
		of := settings[name]
		if len(slices.Compact(slices.Clone(of))) == 1 {
			continue
		}
		for i, value := range of[1:] {
			if len(runs) > 2 && value != of[0] {
				of[1+i] = "≠ " + value
			}
		}
		t := &differs
		if slices.ContainsFunc(derived, func(of string) bool { return strings.HasPrefix(name, of) }) {
			t = &follows
		}
		t.Rows = append(t.Rows, append([]string{name}, of...))
	}
	switch {
	case len(differs.Rows) > 0 && len(follows.Rows) > 0:
		return []table{done, differs, follows}, nil
	case len(follows.Rows) > 0:
		differs.Rows = follows.Rows
	case len(differs.Rows) == 0:
		differs.About = "No parameter of the last epochs differs."
	}
	return []table{done, differs}, nil
}
