package watch

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/caveat"
	"github.com/spdl/spdl/cmd/internal/chainview"
	"github.com/spdl/spdl/cmd/internal/cli/command"
	"github.com/spdl/spdl/cmd/internal/doctor"
	"github.com/spdl/spdl/internal/wait"
	"github.com/spdl/spdl/privacy/accountant"
)

// watching is what query status says of the participants beside the node, once or again and again.
type watching struct {
	participants, again bool
	interval            time.Duration
}

func (o *watching) flags(cmd *cobra.Command) {
	command.Flag(cmd, &o.participants, "participants", false, "how each participant fared, those in trouble first, what "+
		"stands against them, the time left, and how good the model is on the test rows of --home")
	command.Flag(cmd, &o.again, "watch", false, "show that again and again until Ctrl-C; -o json prints a line a look")
	command.Flag(cmd, &o.interval, "interval", time.Second, "time between two looks of --watch")
}

func (o *watching) run(r *command.Run, address string) error {
	if o.interval < 100*time.Millisecond {
		return command.Usage(fmt.Errorf("--interval is %v, want at least 100ms", o.interval))
	}
	c, err := r.Client(address)
	if err != nil {
		return err
	}
	n := lookedAt(r, c)
	g, err := n.look(r.Context)
	if err != nil {
		return err
	}
	if !o.again {
		return r.Show(g, g.text)
	}
	for {
		if err := g.show(r); err != nil {
			return err
		}
		if wait.For(r.Context, o.interval) != nil {
			return nil
		}
		now, err := n.look(r.Context)
		switch {
		case r.Context.Err() != nil:
			return nil
		case err != nil: // the node may answer later
			old := *g
			now, old.Unreachable = &old, err.Error()
		}
		g = now
	}
}

// clearScreen moves a terminal's cursor to its first line, and clears what is below.
const clearScreen = "\x1b[H\x1b[J"

// show prints a look of several: in place of the last one on a terminal, and after it elsewhere.
func (g *Glance) show(r *command.Run) error {
	if r.JSON {
		return json.NewEncoder(r.Out).Encode(g)
	}
	var b strings.Builder
	if command.IsTerminal(r.Out) {
		b.WriteString(clearScreen)
	}
	g.text(&b)
	_, err := fmt.Fprintln(r.Out, b.String())
	return err
}

// text prints first whether the net and this node work, how long the training takes and who is in trouble; then
// the last round, and a table of the participants.
func (g *Glance) text(w io.Writer) {
	s := g.Status
	lines := append([]string{fmt.Sprintf("%s  %s  %s  %d peers  %s", oneLine(s.ChainID, nameRunes),
		oneLine(g.Moniker, nameRunes), g.At.Format(time.TimeOnly), g.Peers, g.phase())}, g.alarms()...)
	age := map[bool]string{false: "no block yet", true: fmt.Sprintf("%.1f s ago", g.BlockAge)}[s.Height > 0]
	lines = append(lines, fmt.Sprintf("%d of %d rounds closed%s   height %d, %s   epoch %d   %d of %d gradients "+
		"pending   rule %s   %s", s.Round, s.Rounds, g.timeLeft(), s.Height, age, s.Epoch, s.Pending, s.Participants,
		oneLine(s.Rule, nameRunes), g.epsilon()))
	lines = append(lines, g.against()...)
	if r := g.Last; r != nil {
		failed := ""
		if r.View > 0 {
			failed = fmt.Sprintf(", after %d failed to lead", r.View)
		}
		lines = append(lines, fmt.Sprintf("last closed: round %d (the first is 0)   leader %d%s   %d included: %s", r.Round,
			r.Leader, failed, len(r.Contributions), g.counts()))
	}
	for _, l := range append(lines, g.Model.lines()...) {
		fmt.Fprintln(w, l)
	}
	g.table(w)
}

// phase returns the phase of the training in a few words.
func (g *Glance) phase() string {
	switch {
	case g.CatchingUp, g.Votes != nil && g.Votes.Fetches():
		return "catching up"
	case g.Votes != nil:
		return "NO BLOCK"
	}
	return phase(g.Status, "ended early, budgets are spent")
}

// alarms returns what keeps the net or this node from its work.
func (g *Glance) alarms() (lines []string) {
	if g.Status.TestChain {
		lines = append(lines, caveat.TestChain)
	}
	if g.Unreachable != "" {
		lines = append(lines, "NO ANSWER since "+g.At.Format(time.TimeOnly)+", old figures: "+oneLine(g.Unreachable, 100))
	}
	if g.Votes != nil {
		lines = append(lines, oneLine(g.Votes.Standstill(), 250))
		if g.Peers == 0 {
			lines = append(lines, "this node: no peer is connected (spdl doctor)")
		}
	}
	if g.Status.Home != nil {
		for _, l := range doctor.HomeLines(g.Status.Home) {
			if l.Concern {
				lines = append(lines, "this node: "+oneLine(l.Name+" "+l.Text, 200))
			}
		}
	}
	return lines
}

// timeLeft returns an estimate of the time for the remaining rounds, "" if it is unknown, as while no block comes.
func (g *Glance) timeLeft() string {
	s := g.Status
	if s.Done || s.Round >= s.Rounds || g.RoundTook <= 0 || g.Votes != nil {
		return ""
	}
	left, unit := g.RoundTook*float64(s.Rounds-s.Round), time.Second
	switch {
	case left > 1e6*3600:
		return "   years left"
	case left >= 3600:
		unit = time.Minute
	}
	return fmt.Sprintf("   about %v left, %.2g s a round", time.Duration(left*1e9).Round(unit), g.RoundTook)
}

// epsilon returns the largest spend, with the largest budget.
func (g *Glance) epsilon() string {
	if g.Status.Epsilon == nil {
		return "NO DP GUARANTEE"
	}
	budget := 0.0
	for _, p := range g.Spend {
		budget = max(budget, p.Budget)
	}
	return fmt.Sprintf("epsilon %s of %g", accountant.Text(*g.Status.Epsilon), budget)
}

// fates returns the verdicts on the participants in the last round, none before it.
func (g *Glance) fates() map[uint32]chainview.Verdict {
	out := map[uint32]chainview.Verdict{}
	if g.Last == nil {
		return out
	}
	var people []app.Participant
	for _, p := range g.Standings {
		people = append(people, app.Participant{Index: p.Participant, Active: true})
	}
	for _, v := range chainview.Verdicts(g.Last, people, nil, nil) {
		chainview.Witness{Rejections: g.Refused}.Reject(&v)
		out[v.Participant] = v
	}
	return out
}

// counts returns the numbers of participants for each result in the last round.
func (g *Glance) counts() string {
	fates, weight, weighed := map[string]int{}, 0.0, false
	for _, v := range g.fates() {
		if fates[v.Fate]++; v.Opposed {
			fates["opposed"]++
		}
		if v.Weight != nil {
			weight, weighed = weight+*v.Weight, true
		}
	}
	together := ""
	if weighed {
		together = fmt.Sprintf(", weight %.2f together", weight)
	}
	return fmt.Sprintf("%d selected%s, %d left out, %d opposed, %d rejected, %d absent", fates[chainview.Selected],
		together, fates[chainview.LeftOut], fates["opposed"], fates[chainview.Refused], fates[chainview.Absent])
}

// fateTexts are the results of a gradient in words.
var fateTexts = map[string]string{"": "absent", chainview.Selected: "selected", chainview.LeftOut: "left out",
	chainview.Absent: "absent", chainview.Refused: "rejected"}

// shownRows is the max number of participants in the table: a consortium has 4 to 20.
const shownRows = 40

// marks show the levels of trouble: none, one on watch, one that differs, and a proven offence.
var marks = []string{"", "! ", "! ", "!! "}

// table prints a line for each participant, those with trouble first.
func (g *Glance) table(w io.Writer) {
	spend, level, fates := map[uint32]query.Spend{}, map[uint32]int{}, g.fates()
	for _, p := range g.Spend {
		spend[p.Participant] = p
	}
	for _, x := range g.Trouble {
		level[x.Participant] = x.Level
	}
	order := slices.Clone(g.Standings)
	slices.SortStableFunc(order, func(a, b query.Standing) int {
		return cmp.Or(level[b.Participant]-level[a.Participant], cmp.Compare(a.Reputation, b.Reputation))
	})
	const heading = "#\tmoniker\treputation\tlast round\tweight\toffences\tepsilon\tbudget pays\tgradients"
	command.Table(w, heading, order[:min(shownRows, len(order))], func(p query.Standing) string {
		v := fates[p.Participant]
		epsilon, left, fate := "-", "-", fateTexts[v.Fate]
		if a := spend[p.Participant]; a.Epsilon != nil {
			epsilon = accountant.Text(*a.Epsilon)
			if a.Left != nil {
				left = fmt.Sprintf("%d more", *a.Left)
			}
		}
		if v.Opposed {
			fate += ", opposed"
		}
		for _, x := range g.Refused {
			if x.Signed && x.Participant == p.Participant && v.Fate == chainview.Refused {
				fate = "rejected: " + oneLine(x.Reason, nameRunes)
			}
		}
		return fmt.Sprintf("%s%d\t%s\t%.3f\t%s\t%s\t%d\t%s\t%s\t%d", marks[level[p.Participant]], p.Participant,
			oneLine(p.Moniker, monikerRunes), float64(p.Reputation)/params.One, fate, chainview.WeightText(v.Weight), p.Offences,
			epsilon, left, p.Participations)
	})
	if more := len(order) - shownRows; more > 0 {
		fmt.Fprintf(w, "and %d more: spdl query participants\n", more)
	}
}

// The max numbers of characters of a name, and of a participant's name.
const nameRunes, monikerRunes = 32, 16

// oneLine returns an untrusted text as one short line, without characters that control a terminal,
// change the direction of text or combine with others.
func oneLine(text string, runes int) string {
	out := []rune(text)
	if len(out) > runes {
		out = append(out[:runes-1], '…')
	}
	for i, r := range out {
		if !unicode.IsPrint(r) || unicode.IsMark(r) {
			out[i] = unicode.ReplacementChar
		}
	}
	return string(out)
}
