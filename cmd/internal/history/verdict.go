package history

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spdl/spdl/cmd/internal/chainview"
	"github.com/spdl/spdl/internal/printable"
	"github.com/spdl/spdl/privacy/accountant"
)

// cards returns the results that a reader looks for first.
func (c chain) cards() []fact {
	last := c.Rounds[len(c.Rounds)-1]
	accuracy := fact{"Test accuracy", "not measured", ""}
	if !math.IsNaN(last.Accuracy) {
		accuracy.Value = fmt.Sprintf("%.2f %%", 100*last.Accuracy)
		accuracy.Note = fmt.Sprintf("of %d test examples, ", last.Tested)
	}
	accuracy.Note += fmt.Sprintf("after round %d of epoch %d", last.Round, last.Epoch)
	if m := last.Measures; m != nil {
		accuracy.Note += "; " + m.String()
	}
	epsilon := fact{"Epsilon spent", "none", "no DP guarantee"}
	if !math.IsNaN(last.Epsilon) {
		epsilon.Value, epsilon.Note = accountant.Text(last.Epsilon), fmt.Sprintf("at delta %g", c.Params.Privacy.Delta)
		if budget := c.Params.Privacy.Epsilon; budget > 0 {
			epsilon.Value += fmt.Sprintf(" of %g", budget)
			epsilon.Note = fmt.Sprintf("%.0f %% of the budget; delta %g", 100*last.Epsilon/budget, c.Params.Privacy.Delta)
		}
	}
	apart := c.standingApart()
	standOut := fact{"Stand out", strconv.Itoa(len(apart)), fmt.Sprintf("of %d participants", len(c.State.Participants))}
	if len(apart) > 0 {
		standOut.Note += ": " + c.names(slices.Sorted(maps.Keys(apart)))
	}
	return []fact{accuracy, epsilon, standOut,
		{"Rounds", strconv.FormatUint(c.Audit.Rounds, 10), fmt.Sprintf("in %d blocks", c.Audit.Last-c.Audit.First+1)},
		{"Rule", c.Params.Rule.Name, "withstands " + plural(c.Params.Rule.Byzantine)}}
}

// plural returns a number of attackers as text.
func plural(n uint32) string {
	if n == 1 {
		return "1 attacker"
	}
	return fmt.Sprintf("%d attackers", n)
}

// overrun reports whether the manifest of a localnet names more attackers than the rule withstands.
func (c chain) overrun() bool { return len(c.Attacks) > int(c.Params.Rule.Byzantine) }

// standingApart returns what stands against each participant that stands out over the whole history: with a proven
// offence that no restore has settled, or as an attacker or one with different patients.
func (c chain) standingApart() map[uint32][]string {
	all := map[uint32][]string{}
	for _, p := range c.State.Participants {
		n, offences := c.tally(p.Index), 0
		for _, o := range c.Audit.Offences {
			if o.WeighsOn(&p) {
				offences++
			}
		}
		s := chainview.Standing{Active: p.Active, Reputation: p.Reputation, PassedOver: int(p.PassedOver),
			Offences: offences, Rounds: n.Included + n.Absent, Included: n.Included,
			LeftOut: n.Included - n.Selected, Apart: n.Apart, Opposed: n.Opposed, Led: n.Led, Passed: n.Missed,
			Weight: n.MeanWeight()}
		if s.Judge(nil); chainview.Rank(s.Alarm) >= chainview.Rank(chainview.Differs) {
			all[p.Index] = s.Reasons
		}
	}
	return all
}

// A fate says what stands against a participant, and what became of it.
type fate struct {
	Name, Text string
	Apart      bool
}

// fates returns the fate of each participant that stands out or is an attacker by the manifest.
func (c chain) fates() (out []fate) {
	apart := c.standingApart()
	for _, p := range c.State.Participants {
		kind, plays := c.Attacks[p.Index]
		reasons, stands := apart[p.Index]
		if !plays && !stands {
			continue
		}
		f := fate{Name: c.name(p.Index), Apart: stands}
		if plays {
			f.Text = "Attack by the manifest: " + kind + ". "
		}
		switch {
		case stands:
			f.Text += "Against it: " + strings.Join(reasons, "; ") + "."
		case c.overrun():
			f.Text += "The record does not accuse it, and the attackers are more than the rule withstands."
		case c.tally(p.Index).Opposed > 0:
			f.Text += fmt.Sprintf("No alarm accuses it, though it opposed Delta in %d of %d.", c.tally(p.Index).Opposed,
				c.tally(p.Index).Included)
		default:
			n := c.tally(p.Index)
			f.Text += fmt.Sprintf("No alarm accuses it: its gradient is in %d of %d rounds, the rule selected it in %d, and "+
				"its turns to lead were passed over %d times.", n.Included, n.Included+n.Absent, n.Selected, p.PassedOver)
		}
		if n := c.tally(p.Index); n.Weighed > 0 && !chainview.Light(n.MeanWeight(), n.Included) { // a light one is a reason
			f.Text += fmt.Sprintf(" Its gradients weighed %s of a full share on average.", chainview.WeightText(n.MeanWeight()))
		}
		out = append(out, f)
	}
	return out
}

// facts returns what identifies the chain and its result.
func (c chain) facts() (out []fact) {
	add := func(name, format string, values ...any) {
		out = append(out, fact{Name: name, Value: fmt.Sprintf(format, values...)})
	}
	last := c.Rounds[len(c.Rounds)-1]
	add("Chain", "%s", printable.Text(c.Audit.ChainID))
	add("Genesis", "SHA-256 of config/genesis.json: %s", cmp.Or(c.GenesisHash, "not known"))
	add("From, to", "genesis %s, last round %s", c.GenesisTime.UTC().Format(time.DateTime),
		last.Time.UTC().Format(time.DateTime)+" UTC")
	add("Blocks", "heights %d to %d, with %d rounds, %d gradients and %d transactions", c.Audit.First, c.Audit.Last,
		c.Audit.Rounds, c.Audit.Gradients, c.Audit.Transactions)
	add("Application hash", "%s, after height %d", c.Audit.AppHash, c.Audit.Last)
	add("Model", "hash %x, after round %d of epoch %d", last.ModelHash, last.Round, last.Epoch)
	return out
}
