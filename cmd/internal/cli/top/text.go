package top

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/caveat"
	"github.com/spdl/spdl/privacy/accountant"
)

// monikerRunes is the number of characters of a moniker that are shown.
const monikerRunes = 32

// line is one line of the screen.
type line struct {
	text string
	tint tint
}

// draw draws a view. On a terminal it draws only the rows of the table that fit.
func draw(w io.Writer, v *view, s *screen) error {
	if s.measure(); s.help {
		all := wrapped(helpLines, s.width)
		return s.show(w, all[:min(len(all), max(1, cmp.Or(s.height, len(all))))])
	}
	participants, narrow := table(v, !s.byNumber, s.width)
	heading, participants := participants[0], participants[1:]
	foot := wrapped(narrow, s.width)
	if s.out == nil {
		lines := append(wrapped(head(v, maxTroubles, false), s.width), heading)
		return s.show(w, append(append(append(lines, participants...), foot...), line{}))
	}
	order := "s: by number"
	if s.byNumber {
		order = "s: trouble first"
	}
	keys := func(from, until int) []line {
		return wrapped([]line{{fmt.Sprintf("%d to %d of %d   q: quit   ?: help   %s   arrows: scroll", from, until,
			len(participants), order), bold}}, s.width)
	}
	below := len(foot) + len(keys(len(participants), len(participants)))
	lines := append(wrapped(head(v, maxTroubles, false), s.width), heading)
	fits := func() bool { return s.height == 0 || s.height-len(lines)-below >= min(minRows, len(participants)) }
	for troubles := maxTroubles; troubles >= 0 && !fits(); troubles-- { // as many as leave space for rows of the table
		lines = append(wrapped(head(v, troubles, true), s.width), heading)
	}
	s.rows = len(participants)
	if s.height > 0 {
		s.rows = min(s.rows, max(1, s.height-len(lines)-below))
	}
	s.first = max(0, min(s.first, len(participants)-s.rows))
	lines = append(lines, participants[s.first:s.first+s.rows]...)
	return s.show(w, append(append(lines, foot...), keys(min(s.first+1, len(participants)), s.first+s.rows)...))
}

// helpLines explain the keys and the columns.
var helpLines = []line{
	{"keys", bold},
	{"q, Ctrl-C            end", none},
	{"s                    order by number, or those in trouble first", none},
	{"arrows, j, k         scroll by a row", none},
	{"PgUp, PgDn, b, space  scroll by a page", none},
	{"Home, End, g, G      first and last row", none},
	{"?                    this help; any key ends it", none},
	{"", none},
	{"columns", bold},
	{"!!           a proven offence, or it looks like an attacker", none},
	{"!            it fails to lead or to send gradients", none},
	{"reputation   from 0 to 1; with 0 it may not lead", none},
	{"last round   selected, left out by the rule, opposed (it points away from Delta), rejected by this node, absent",
		none},
	{"weight       its share of Delta: 0 is left out, 1 a full share", none},
	{"epsilon      what its gradients may tell of one of its examples; smaller is more private", none},
	{"budget pays  further gradients until its budget is spent", none},
}

// minRows is the number of rows of the table that troubles above it leave space for.
const minRows = 5

// head returns the lines above the table, with up to a number of troubles: first whether the net and this node work,
// whether the model learns, when the training ends, and who is in trouble. A brief head leaves out what other commands
// show: the rule, the open round, the stages of the last one, and reputations.
func head(v *view, troubles int, brief bool) []line {
	s := v.Status
	lines := append([]line{{fmt.Sprintf("%s  %s  %s  %d peers  %s", name(s.ChainID), name(v.Moniker),
		v.At.Format(time.TimeOnly), v.Peers, phaseOf(v)), bold}}, alarms(v)...)
	progress := fmt.Sprintf("%d of %d rounds closed", s.Round, s.Rounds)
	if !brief {
		progress += " " + meter(s.Round, s.Rounds)
	}
	progress += timeLeft(v) + fmt.Sprintf("   height %d, %.1f s ago   epoch %d", s.Height, v.BlockAge, s.Epoch)
	if !brief {
		if !s.Done {
			progress += fmt.Sprintf("   %d of %d gradients pending", s.Pending, s.Participants)
		}
		progress += "   rule " + name(s.Rule)
	}
	accuracy := line{accuracyOf(v.Score) + v.Accuracy.String() + "   " + epsilonOf(v) + v.Epsilon.String(), none}
	if v.Score.Poor {
		accuracy.tint = yellow
	}
	lines = append(append(lines, accuracy, line{progress, none}), against(v, troubles)...)
	if r := v.Last; r != nil {
		text := fmt.Sprintf("last closed: round %d (the first is 0)   leader %d%s   %d included", r.Round, r.Leader,
			turn(r.View), len(r.Contributions))
		if t := v.Timing; t != nil && !brief {
			text += fmt.Sprintf("   computing the gradient %.0f ms   exchange %.0f ms   agreement on the block %.0f ms", t.LGC,
				t.GE, t.BC)
		}
		fates := counts(v)
		if !brief {
			fates += reputations(v)
		}
		lines = append(lines, line{text, none}, line{fates, none})
	}
	if brief {
		return lines
	}
	if !s.Done {
		lines = append(lines, line{"next leaders " + listed(firstOf(s.Ranking, 8)), none})
	}
	return append(lines, line{})
}

// phaseOf returns the phase of the training in a few words.
func phaseOf(v *view) string {
	switch {
	case v.CatchingUp:
		return "catching up"
	case v.Status.Done:
		return "finished"
	case v.Votes != nil:
		return "NO BLOCK"
	case v.Status.Phase != "":
		return fmt.Sprintf("%s, %d committed", v.Status.Phase, v.Status.Committed)
	}
	return "training"
}

// alarms returns what keeps the net or this node from its work.
func alarms(v *view) (lines []line) {
	if v.Status.TestChain {
		lines = append(lines, line{caveat.TestChain, yellow})
	}
	if v.Unreachable != "" {
		lines = append(lines, line{"NO ANSWER since " + v.At.Format(time.TimeOnly) + ", old figures: " +
			oneLine(v.Unreachable, 100), red})
	}
	if v.Votes != nil {
		lines = append(lines, line{oneLine(v.Votes.Standstill(), 250), red})
		if v.Peers == 0 {
			lines = append(lines, line{"this node: no peer is connected (spdl doctor)", red})
		}
	}
	if v.Status.Home != nil {
		for _, l := range v.Status.Home.Lines() {
			if l.Concern {
				lines = append(lines, line{"this node: " + oneLine(l.Name+" "+l.Text, 200), red})
			}
		}
	}
	return lines
}

// turn says how many leaders failed before the one in a view.
func turn(view uint32) string {
	if view == 0 {
		return ""
	}
	return fmt.Sprintf(", after %d failed to lead", view)
}

func listed(participants []uint32) string {
	var all []string
	for _, p := range participants {
		all = append(all, fmt.Sprint(p))
	}
	return strings.Join(all, " ")
}

// wrapped breaks lines that are wider than a screen, at places where three spaces separate their
// parts, or where a part is too wide, between words, and indents the continuation. A width of 0 is
// unknown, and no line is broken.
func wrapped(lines []line, width int) []line {
	if width <= 0 {
		return lines
	}
	var out []line
	for _, l := range lines {
		text, room := "", width
		add := func(gap, part string) {
			if text != "" && utf8.RuneCountInString(text)+len(gap)+utf8.RuneCountInString(part) > room {
				out, text, gap = append(out, line{text, l.tint}), "  ", ""
			}
			if text == "" {
				gap = ""
			}
			text += gap + part
		}
		for _, part := range strings.Split(l.text, "   ") {
			if utf8.RuneCountInString(part)+2 <= width {
				add("   ", part)
				continue
			}
			for i, word := range strings.Split(part, " ") {
				add(strings.Repeat(" ", 3-2*min(1, i)), word)
			}
		}
		out = append(out, line{text, l.tint})
	}
	return out
}

// counts returns the numbers of participants for each result in the last round, because a screen
// shows only a few of a thousand rows.
func counts(v *view) string {
	selected, leftOut, opposed, refused, weight := 0, 0, 0, 0, 0.0
	in := map[uint32]bool{}
	for _, c := range v.Last.Contributions {
		in[c.Participant] = true
		if c.Opposed {
			opposed++
		}
		if w := query.WeightOf(v.Last, c); w != nil {
			weight += *w
		}
		if c.Selected {
			selected++
		} else {
			leftOut++
		}
	}
	signed := map[uint32]bool{}
	for _, x := range v.Refused {
		if x.Signed && !in[x.Participant] && !signed[x.Participant] {
			signed[x.Participant] = true
			refused++
		}
	}
	together := ""
	if query.Weighs(v.Last.Rule) {
		together = fmt.Sprintf(", weight %.2f together", weight)
	}
	return fmt.Sprintf("%d selected%s   %d left out   %d opposed   %d rejected   %d absent",
		selected, together, leftOut, opposed, refused, max(0, v.Status.Participants-len(in)-refused))
}

// reputations returns the spread of the participants' reputations, "" without participants.
func reputations(v *view) string {
	all := []int64{}
	for _, p := range v.Standings {
		all = append(all, p.Reputation)
	}
	if slices.Sort(all); len(all) == 0 {
		return ""
	}
	without, _ := slices.BinarySearch(all, 1)
	return fmt.Sprintf("   reputation %.3f to %.3f, median %.3f, %d at 0", float64(all[0])/params.One,
		float64(all[len(all)-1])/params.One, float64(all[len(all)/2])/params.One, without)
}

// timeLeft returns an estimate of the time for the remaining rounds, "" if it is unknown, as
// while no block comes.
func timeLeft(v *view) string {
	s := v.Status
	if s.Done || s.Round >= s.Rounds || v.Pace <= 0 || v.Votes != nil {
		return ""
	}
	unit := time.Second
	left := v.Pace.Seconds() * float64(s.Rounds-s.Round)
	switch {
	case left > 1e6*3600:
		return "   years left"
	case left >= 3600:
		unit = time.Minute
	}
	text := time.Duration(left * float64(time.Second)).Round(unit).String()
	if unit == time.Minute {
		text = strings.TrimSuffix(text, "0s")
	}
	return fmt.Sprintf("   about %s left, %.2g s a round", text, v.Pace.Seconds())
}

func accuracyOf(s score) string {
	if s.Accuracy == nil {
		return fmt.Sprintf("accuracy not measured (%s)", oneLine(s.Why, 200))
	}
	text := fmt.Sprintf("accuracy %.2f %% of %d examples after round %d", *s.Accuracy*100, s.Examples, s.Round)
	if s.Poor {
		text += fmt.Sprintf(", hardly better than guessing (%.0f %%)", 100*s.Guess)
	}
	return text
}

func epsilonOf(v *view) string {
	if v.Status.Epsilon == nil {
		return "NO DP GUARANTEE"
	}
	text := "epsilon " + accountant.Text(*v.Status.Epsilon)
	if budgets := v.Spend; len(budgets) > 0 {
		text += fmt.Sprintf(" of %g", slices.MaxFunc(budgets,
			func(a, b query.Spend) int { return cmp.Compare(a.Budget, b.Budget) }).Budget)
	}
	return text
}

// meter returns a bar of 20 cells for the share x/of.
func meter(x, of uint64) string {
	const cells = 20
	full := 0
	if of > 0 {
		full = int(min(x, of) * cells / of)
	}
	return "[" + strings.Repeat("#", full) + strings.Repeat(".", cells-full) + "]"
}

func firstOf(list []uint32, n int) []uint32 { return list[:min(n, len(list))] }

// name returns an untrusted name as one short line, without characters that control a terminal,
// change the direction of text or combine with others.
func name(text string) string { return oneLine(text, monikerRunes) }

func oneLine(text string, runes int) string {
	out := make([]rune, 0, runes)
	for _, r := range text {
		if len(out) == runes {
			return string(append(out[:runes-1], '…'))
		}
		if !unicode.IsPrint(r) || unicode.IsMark(r) {
			r = unicode.ReplacementChar
		}
		out = append(out, r)
	}
	return string(out)
}
