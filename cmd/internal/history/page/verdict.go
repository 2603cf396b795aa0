package page

import (
	"cmp"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spdl/spdl/app"
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
	epsilon := fact{"Epsilon spent", "none", "no DP guarantee"}
	if !math.IsNaN(last.Epsilon) {
		epsilon.Value, epsilon.Note = accountant.Text(last.Epsilon), fmt.Sprintf("at delta %g", c.Params.Privacy.Delta)
		if budget := c.Params.Privacy.Epsilon; budget > 0 {
			epsilon.Value += fmt.Sprintf(" of %g", budget)
			epsilon.Note = fmt.Sprintf("%.0f %% of the budget; delta %g", 100*last.Epsilon/budget, c.Params.Privacy.Delta)
		}
	}
	suspects := c.suspects()
	apart := fact{"Stand out", strconv.Itoa(len(suspects)), fmt.Sprintf("of %d participants",
		len(c.State.Participants))}
	if len(suspects) > 0 {
		apart.Note += ": " + c.names(slices.Sorted(maps.Keys(suspects)))
	}
	return []fact{accuracy, epsilon, apart,
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

// suspects returns the reasons for each participant that stands out over the whole history: with a proven
// offence, or as an attacker or one with different patients.
func (c chain) suspects() map[uint32][]string {
	offences := map[uint32]int{}
	for _, o := range c.Audit.Offences {
		offences[o.Participant]++
	}
	all := map[uint32][]string{}
	for _, p := range c.State.Participants {
		n := c.tally(p.Index)
		s := chainview.Standing{Active: p.Active, Reputation: p.Reputation, PassedOver: int(p.PassedOver),
			Offences: offences[p.Index], Included: n.Included, Opposed: n.Opposed}
		if s.Judge(nil); chainview.Rank(s.Alarm) >= chainview.Rank(chainview.Differs) {
			all[p.Index] = s.Reasons
		}
	}
	return all
}

// A fate says what stands against a participant, and what became of it.
type fate struct {
	Name, Text string
	Suspect    bool
}

// fates returns the fate of each participant that stands out or is an attacker by the manifest.
func (c chain) fates() (out []fate) {
	suspects := c.suspects()
	for _, p := range c.State.Participants {
		kind, plays := c.Attacks[p.Index]
		reasons, suspect := suspects[p.Index]
		if !plays && !suspect {
			continue
		}
		f := fate{Name: c.name(p.Index), Suspect: suspect}
		if plays {
			f.Text = "Attack by the manifest: " + kind + ". "
		}
		switch {
		case suspect:
			f.Text += "Against it: " + strings.Join(reasons, "; ") + "."
		case c.overrun():
			f.Text += "The record does not accuse it, and the attackers are more than the rule withstands."
		default:
			f.Text += "Nothing stands against it."
		}
		if weight := c.tally(p.Index).MeanWeight(); weight != nil {
			f.Text += fmt.Sprintf(" Its gradients weighed %s of a full share on average.", chainview.WeightText(weight))
		}
		out = append(out, f)
		out[len(out)-1].Text += c.fall(p)
	}
	return out
}

// fall says since when a participant has no reputation, "" if it has some.
func (c chain) fall(p app.Participant) string {
	if p.Reputation > 0 {
		return ""
	}
	for _, r := range c.Rounds {
		if at := int(p.Index); at < len(r.Reputations) && r.Reputations[at] <= 0 {
			return fmt.Sprintf(" It has no reputation since round %d of epoch %d, and leads no round.", r.Round, r.Epoch)
		}
	}
	return " It has no reputation, and leads no round."
}

// played says whether the chain's record found the attackers that the manifest of a localnet names.
// It returns "" if the manifest names none.
func (c chain) played() string {
	if len(c.Attacks) == 0 {
		return ""
	}
	suspects := c.suspects()
	var missed, wronged []string
	for _, p := range c.State.Participants {
		_, plays := c.Attacks[p.Index]
		_, suspect := suspects[p.Index]
		switch name := c.name(p.Index); {
		case plays && !suspect:
			missed = append(missed, name)
		case suspect && !plays:
			wronged = append(wronged, name)
		}
	}
	found, others := "all were found", "nobody else stands out"
	if len(missed) > 0 {
		found = "not found: " + strings.Join(missed, ", ")
	}
	if len(wronged) > 0 {
		others = "standing out though honest: " + strings.Join(wronged, ", ")
	}
	many := ""
	if c.overrun() {
		many = fmt.Sprintf(", and the rule withstands %d: the model may be ruined, and the record may accuse the honest",
			c.Params.Rule.Byzantine)
	}
	return fmt.Sprintf("Attackers by the manifest of this localnet: %d%s. In the chain's record %s; %s.", len(c.Attacks),
		many, found, others)
}

// facts returns what identifies the chain and its result.
func (c chain) facts() (out []fact) {
	add := func(name, format string, values ...any) {
		out = append(out, fact{Name: name, Value: fmt.Sprintf(format, values...)})
	}
	last := c.Rounds[len(c.Rounds)-1]
	members := 0
	for _, p := range c.State.Participants {
		if p.Active {
			members++
		}
	}
	add("Chain", "%s", printable.Text(c.Audit.ChainID))
	add("Genesis", "SHA-256 of config/genesis.json: %s", cmp.Or(c.GenesisHash, "not known"))
	add("From, to", "genesis %s, last round %s", c.GenesisTime.UTC().Format(time.DateTime),
		last.Time.UTC().Format(time.DateTime)+" UTC")
	add("Blocks", "heights %d to %d, with %d rounds, %d gradients and %d transactions", c.Audit.First, c.Audit.Last,
		c.Audit.Rounds, c.Audit.Gradients, c.Audit.Transactions)
	add("Application hash", "%s, after height %d", c.Audit.AppHash, c.Audit.Last)
	add("Model", "hash %x, after round %d of epoch %d", last.ModelHash, last.Round, last.Epoch)
	add("Participants", "N = %d; the rule withstands f = %d", members, c.Params.Rule.Byzantine)
	add("Rule", "%s", c.Params.Rule.Name)
	if math.IsNaN(last.Epsilon) {
		add("Privacy", "no DP guarantee")
	} else {
		add("Privacy", "epsilon %s of a budget of %g at delta %g: the largest spend of a participant",
			accountant.Text(last.Epsilon), c.Params.Privacy.Epsilon, c.Params.Privacy.Delta)
	}
	return out
}
