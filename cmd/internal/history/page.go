package history

import (
	"bytes"
	"cmp"
	_ "embed" // of the page
	"fmt"
	"html/template"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/chainview"
	"github.com/spdl/spdl/cmd/internal/explorer/pages"
	"github.com/spdl/spdl/internal/printable"
	"github.com/spdl/spdl/privacy/accountant"
)

// Origin says what a report is made of, and by what.
type Origin struct {
	Command, Version string // that made the report
	GenesisHash      string // SHA-256 of the file config/genesis.json
	GenesisTime      time.Time
	Attacks          map[uint32]string // kinds of attack of a localnet's manifest, by participant
	Gains            Gains             // of a localnet that trains files of sites
}

// chain is a history with the functions that show it.
type chain struct {
	*Chain
	Origin
}

// A fact is a name with a value, and on a card with a note below it.
type fact struct{ Name, Value, Note string }

// A table is a part of the page. The rows in Bad are marked, and a folded table is collapsed until the reader opens it.
type table struct {
	ID, Title, About string
	Head             []string
	Rows             [][]string
	Bad              map[int]bool
	Folded           bool
}

//go:embed page.html
var pageText string

// page is the template of the page. It escapes all that the chain and the command line say.
var page = template.Must(template.New("page").Parse(pageText))

// Page returns the report: one HTML file, which loads no other files.
func Page(h *Chain, o Origin) ([]byte, error) {
	c := chain{h, o}
	figures, err := c.figures()
	if err != nil {
		return nil, err
	}
	var tables []table
	for _, t := range []table{c.Gains.Folds.table(), c.Gains.table(), c.incidents(), c.participants(), c.rounds()} {
		if len(t.Rows) > 0 {
			tables = append(tables, t)
		}
	}
	fates := c.fates()
	return content{Origin: o, ChainID: printable.Text(c.Audit.ChainID), About: c.about(),
		Warnings: c.warnings(), Cards: c.cards(), Facts: c.facts(), Fates: fates, Figures: figures, Tables: tables,
		Apart: slices.ContainsFunc(fates, func(f fate) bool { return f.Apart })}.page()
}

// content is what a page shows.
type content struct {
	Origin
	Several        int // runs side by side, or 0 for the page of one chain
	Style          template.CSS
	ChainID, About string
	Warnings       []string
	Cards, Facts   []fact
	Fates          []fate
	Apart          bool
	Figures        []template.HTML
	Tables         []table
}

func (c content) page() ([]byte, error) {
	var out bytes.Buffer
	c.Style = template.CSS(pages.Style())
	err := page.Execute(&out, c)
	return out.Bytes(), err
}

// about says what the report rests on.
func (c chain) about() string {
	text := fmt.Sprintf("All of the chain was executed again from its blocks, and %d signatures of validators were "+
		"verified.", c.Audit.Signatures)
	if c.Unmeasured != "" {
		text += " Models were not measured: " + c.Unmeasured + "."
	}
	return text
}

// warnings returns what a reader must know first: a divergence, and known noise.
func (c chain) warnings() (out []string) {
	if d := c.Audit.Divergence; d != nil {
		out = append(out, fmt.Sprintf("THE REPLAY DIVERGES at height %d, and ends there: %s.", d.Height, d.Reason))
	}
	if app.KnownNoise(c.State.Params, c.State.Epochs) {
		out = append(out, "A TEST CHAIN: its noise may be known, so epsilon is on paper only.")
	}
	if m := c.Rounds[len(c.Rounds)-1].Measures; m != nil {
		out = append(out, m.Warnings...)
	}
	return out
}

// few is the max number of lines of reputations.
const few = 8

// across returns the horizontal axis: its name, and the place of a round. Rounds of several epochs are counted through.
func (c chain) across() (name string, at func(Round) uint64) {
	if c.Rounds[0].Epoch == c.Rounds[len(c.Rounds)-1].Epoch {
		return "round", func(r Round) uint64 { return r.Round }
	}
	return "rounds closed", func(r Round) uint64 { return uint64(r.At) }
}

// curve returns a line with one number of each round.
func (c chain) curve(name, alarm string, of func(Round) float64) pages.Curve {
	line := pages.Curve{Name: name, Alarm: alarm}
	_, at := c.across()
	for _, r := range c.Rounds {
		line.Rounds, line.Values = append(line.Rounds, at(r)), append(line.Values, of(r))
	}
	return line
}

// figures draws the course of the training: accuracy, the largest spend with its budget, reputations, and gradients.
func (c chain) figures() (out []template.HTML, err error) {
	name, _ := c.across()
	gradients := []pages.Curve{
		c.curve("included", "", func(r Round) float64 { return float64(len(r.Contributions)) }),
		c.curve("selected", "", func(r Round) float64 { return float64(r.Selected()) })}
	legend := "Included in a round, and selected by the rule."
	if slices.ContainsFunc(c.Rounds, func(r Round) bool { return !math.IsNaN(r.Weight()) }) {
		gradients = append(gradients, c.curve("weight together", chainview.OK, Round.Weight))
		legend += " What they weigh together is below their number where the rule took weight from some."
	}
	for _, f := range []pages.Figure{
		{Name: "accuracy", Title: "Test accuracy", Share: true, Top: 1, Curves: []pages.Curve{
			c.curve("", "", func(r Round) float64 { return r.Accuracy })}},
		{Name: "recall", Title: "Recall of the rarer class, or the least of more", Share: true, Top: 1, Curves: []pages.Curve{
			c.curve("", "", func(r Round) float64 { return r.Beside()[1] })}},
		{Name: "auc", Title: "AUC", Share: true, Top: 1, Curves: []pages.Curve{
			c.curve("", "", func(r Round) float64 { return r.Beside()[2] })}},
		{Name: "epsilon", Title: "Epsilon spent", Spent: true, Top: c.Params.Privacy.Epsilon, Curves: []pages.Curve{
			c.curve("", "", func(r Round) float64 { return r.Epsilon })}},
		{Name: "reputation", Title: "Reputation", Top: 1, Curves: c.reputations(),
			Legend: fmt.Sprintf("After each round. It starts at %g, and who has 0 may not lead.",
				float64(c.Params.Reputation.Initial)/params.One)},
		{Name: "gradients", Title: "Gradients", Legend: legend, Top: math.Ceil(float64(len(c.State.Participants))/4) * 4,
			Curves: gradients},
	} {
		f.Across = name
		drawn, err := f.HTML()
		if err != nil {
			return nil, err
		}
		if drawn != "" {
			out = append(out, drawn)
		}
	}
	return out, nil
}

// reputations returns a line for each participant, or of more than few the greatest and the least reputation of each
// round.
func (c chain) reputations() (lines []pages.Curve) {
	if len(c.State.Participants) > few {
		return []pages.Curve{
			c.curve("greatest", chainview.OK, func(r Round) float64 { return slices.Max(r.Reputations) }),
			c.curve("least", chainview.Watch, func(r Round) float64 { return slices.Min(r.Reputations) }),
		}
	}
	apart := c.standingApart()
	for i, p := range c.State.Participants {
		alarm := chainview.OK
		if len(apart[p.Index]) > 0 {
			alarm = chainview.Differs
		}
		lines = append(lines, c.curve(c.name(p.Index), alarm, func(r Round) float64 {
			if i < len(r.Reputations) {
				return r.Reputations[i]
			}
			return math.NaN() // not yet a member
		}))
	}
	return lines
}

// names returns the names of up to three participants. If there are more, it returns the first name
// and the number of the others.
func (c chain) names(indices []uint32) string {
	shown := indices[:min(len(indices), 3)]
	var names []string
	for _, i := range shown {
		names = append(names, c.name(i))
	}
	text := strings.Join(names, ", ")
	if more := len(indices) - len(shown); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// name returns a participant's name with its index.
func (c chain) name(i uint32) string {
	if int(i) >= len(c.State.Participants) {
		return fmt.Sprintf("#%d", i)
	}
	return fmt.Sprintf("%s (#%d)", printable.Text(c.State.Participants[i].Moniker), i)
}

// participants returns a row for each participant, those with the most trouble first.
func (c chain) participants() table {
	t := table{ID: "participants", Title: "Participants, those with trouble first", Bad: map[int]bool{},
		About: "Weight is the mean of a participant's gradients in Delta: 0 is left out, 1 a full share, - not known. " +
			"Budget pays: the further rounds that a participant's budget would pay for, even after the training's last.",
		Head: []string{"participant", "stands out", "reputation", "included", "selected", "weight", "opposed to Delta",
			"absent", "rounds led", "passed over", "epsilon", "budget pays"}}
	if len(c.Attacks) > 0 {
		t.Head = slices.Insert(t.Head, 1, "by the manifest")
	}
	apart := c.standingApart()
	order := slices.Clone(c.State.Participants)
	slices.SortStableFunc(order, func(a, b app.Participant) int {
		x, y := c.tally(a.Index), c.tally(b.Index)
		return cmp.Or(cmp.Compare(len(apart[b.Index]), len(apart[a.Index])),
			cmp.Compare(a.Reputation, b.Reputation),
			cmp.Compare(y.Opposed+y.Absent+y.Missed, x.Opposed+x.Absent+x.Missed))
	})
	for i, p := range order {
		n, looks, name := c.tally(p.Index), "no", c.name(p.Index)
		if len(apart[p.Index]) > 0 {
			looks, t.Bad[i] = "yes", true
		}
		if !p.Active {
			name += ", left"
		}
		epsilon, left := "-", "-"
		if at := int(p.Index); at < len(c.Audit.Spend) && c.Audit.Spend[at].Epsilon != nil {
			epsilon = accountant.Text(*c.Audit.Spend[at].Epsilon)
			left = fmt.Sprintf("%d more", *c.Audit.Spend[at].Left)
		}
		row := []string{name, looks, fmt.Sprintf("%.3f", float64(p.Reputation)/params.One), strconv.Itoa(n.Included),
			strconv.Itoa(n.Selected), chainview.WeightText(n.MeanWeight()), strconv.Itoa(n.Opposed), strconv.Itoa(n.Absent),
			strconv.Itoa(n.Led), strconv.Itoa(n.Missed), epsilon, left}
		if len(c.Attacks) > 0 {
			row = slices.Insert(row, 1, cmp.Or(c.Attacks[p.Index], "honest"))
		}
		t.Rows = append(t.Rows, row)
	}
	return t
}

// tally returns the counts of a participant, zero if the chain closed no round since it joined.
func (c chain) tally(participant uint32) chainview.Tally {
	if int(participant) >= len(c.Count) {
		return chainview.Tally{}
	}
	return c.Count[participant]
}

// incidents returns a row for each proven offence and each leader that was passed over.
func (c chain) incidents() table {
	t := table{ID: "incidents", Title: "Incidents",
		Head: []string{"incident", "participant", "epoch", "round", "view", "height"}}
	for _, o := range c.Audit.Offences {
		t.Rows = append(t.Rows, []string{"proven offence: two different statements (" + o.Cause() + ")",
			c.name(o.Participant), fmt.Sprint(o.Epoch), fmt.Sprint(o.Round), fmt.Sprint(o.View), fmt.Sprint(o.Height)})
	}
	for _, b := range c.Audit.BadLeaders {
		t.Rows = append(t.Rows, []string{fmt.Sprintf("did not lead; %s did", c.name(b.ClosedBy)), c.name(b.Participant),
			fmt.Sprint(b.Epoch), fmt.Sprint(b.Round), fmt.Sprint(b.View), fmt.Sprint(b.Height)})
	}
	return t
}

// rounds returns a row for each round of the report.
func (c chain) rounds() table {
	t := table{ID: "rounds", Title: "Rounds", Folded: true, Head: []string{"epoch/round", "height", "leader", "view",
		"included", "selected", "weight together", "test accuracy", "guessing", "recall", "AUC", "Brier score", "epsilon"}}
	if uint64(len(c.Rounds)) < c.Audit.Rounds {
		t.Title = fmt.Sprintf("Rounds: %d of %d", len(c.Rounds), c.Audit.Rounds)
	}
	for _, r := range c.Rounds {
		t.Rows = append(t.Rows, slices.Concat([]string{
			fmt.Sprintf("%d/%d", r.Epoch, r.Round), fmt.Sprint(r.Height), c.name(r.Leader), fmt.Sprint(r.View),
			fmt.Sprint(len(r.Contributions)), strconv.Itoa(r.Selected()), number("%.2f", r.Weight()),
		}, results(r)))
	}
	return t
}

// number formats a number, "-" if it is NaN.
func number(format string, x float64) string {
	if math.IsNaN(x) {
		return "-"
	}
	return fmt.Sprintf(format, x)
}

// results returns accuracy, what stands beside it, and epsilon.
func results(r Round) []string {
	b, epsilon := r.Beside(), "-"
	if !math.IsNaN(r.Epsilon) {
		epsilon = accountant.Text(r.Epsilon)
	}
	return []string{number("%.2f %%", 100*r.Accuracy), number("%.2f %%", 100*b[0]), number("%.2f %%", 100*b[1]),
		number("%.4f", b[2]), number("%.4f", b[3]), epsilon}
}
