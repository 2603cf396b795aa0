package history

import (
	"strings"

	"github.com/spdl/spdl/app/model/adapt"
	"github.com/spdl/spdl/internal/printable"
)

// Gains say what the owners of files gain by the chain's last model.
type Gains struct {
	Head  []string // of Cells
	Sites []Site
	Folds Folds
}

// Folds is the table of a rehearsal's cross-validation, with a sentence for each site.
type Folds struct {
	Head  []string
	Rows  [][]string
	Says  []string
	About string
}

func (f Folds) table() table {
	return table{ID: "folds", Title: "What each site would gain by folds", About: f.About, Head: f.Head, Rows: f.Rows}
}

// Site is a site's own file: a row for each model, and the verdict of package adapt; without one the name says why.
type Site struct {
	Name, About, Verdict string
	NoneBeatsRate        bool
	Cells                [][]string
}

// Says returns the sentences of the folds. Without folds it names the sites with a gain of the last model, those
// without one, and those with a loss.
func (g Gains) Says() []string {
	says, by := g.Folds.Says, map[string][]string{}
	for _, s := range g.Sites {
		name := printable.Line(s.Name)
		if s.NoneBeatsRate {
			by["rate"] = append(by["rate"], name)
		}
		by[s.Verdict] = append(by[s.Verdict], name)
	}
	for _, x := range [][2]string{{adapt.Better, "A gain for"}, {adapt.Same, "No gain that the test rows show for"},
		{adapt.Worse, "No gain, but a loss, for"}, {"rate", "None beats guessing the rate for"}, {"", "Not measured:"}} {
		if names := by[x[0]]; names != nil && g.Folds.Says == nil {
			says = append(says, x[1]+" "+strings.Join(names, ", "))
		}
	}
	return says
}

// table has a row for each site and model.
func (g Gains) table() table {
	t := table{ID: "gains", Title: "What each site gains on its test rows", Head: append([]string{"site"}, g.Head...),
		About: "The model that the folds of a site's training rows choose among the common one (shared), one with an " +
			"intercept of the site's own, and one adapted to its rows, beside the one that the site makes alone. With " +
			"95 % intervals. Private to the owners of the rows: no epsilon bounds what this tells of them."}
	for _, s := range g.Sites {
		for _, row := range s.Cells {
			t.Rows = append(t.Rows, append([]string{printable.Line(s.Name) + ", " + printable.Line(s.About)}, row...))
		}
	}
	return t
}
