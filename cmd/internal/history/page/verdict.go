package page

import (
	"cmp"
	"fmt"
	"math"
	"strings"
	"time"

	"github.com/spdl/spdl/privacy/accountant"
	"github.com/spdl/spdl/testnet/experiment"
)

// verdict returns the result of the training in one line.
func (c chain) verdict() string {
	last := c.Rounds[len(c.Rounds)-1]
	accuracy, epsilon := "test accuracy not measured", "no DP guarantee"
	if !math.IsNaN(last.Accuracy) {
		accuracy = fmt.Sprintf("test accuracy %.2f %%", 100*last.Accuracy)
		if last.Tested > 0 {
			accuracy += fmt.Sprintf(" of %d test examples", last.Tested)
		}
	}
	if !math.IsNaN(last.Epsilon) {
		epsilon = "epsilon " + accountant.Text(last.Epsilon)
		if budget := c.Params.Privacy.Epsilon; budget > 0 {
			epsilon += fmt.Sprintf(" of %g", budget)
		}
	}
	return fmt.Sprintf("After round %d of epoch %d: %s, %s.", last.Round, last.Epoch, accuracy, epsilon)
}

// The share of opposed gradients that makes a participant suspect, the min number of gradients for
// it, and the number of passed-over turns that does, as in the explorer.
const suspectShare, fewest, suspectPassed = 0.6, 4, 4

// suspects returns for each participant that looks like an attacker over the whole history the
// reasons, in the explorer's words.
func (c chain) suspects() map[uint32][]string {
	offences := map[uint32]int{}
	for _, o := range c.Audit.Offences {
		offences[o.Participant]++
	}
	all := map[uint32][]string{}
	for _, p := range c.State.Participants {
		n := c.tally(p.Index)
		var reasons []string
		if k := offences[p.Index]; k > 0 {
			reasons = append(reasons, fmt.Sprintf("proven offences: %d", k))
		}
		if p.Active && p.Reputation <= 0 {
			reasons = append(reasons, "reputation 0")
		}
		if p.PassedOver >= suspectPassed {
			reasons = append(reasons, fmt.Sprintf("passed over as leader %d times more than it led since", p.PassedOver))
		}
		often := n.Included >= fewest && float64(n.Opposed) >= suspectShare*float64(n.Included)
		if often || n.Opposed > 0 && len(reasons) > 0 {
			reasons = append(reasons, fmt.Sprintf("opposed to Delta in %d of %d", n.Opposed, n.Included))
		}
		if len(reasons) > 0 {
			all[p.Index] = reasons
		}
	}
	return all
}

// accusation names the participants that look like attackers, or returns "" if there are none.
func (c chain) accusation() string {
	suspects := c.suspects()
	var all []string
	for _, p := range c.State.Participants {
		if reasons := suspects[p.Index]; len(reasons) > 0 {
			all = append(all, c.name(p.Index)+": "+strings.Join(reasons, "; "))
		}
	}
	switch len(all) {
	case 0:
		return ""
	case 1:
		return "1 participant looks like an attacker: " + all[0] + "."
	}
	return fmt.Sprintf("%d participants look like attackers: %s.", len(all), strings.Join(all, ". "))
}

// played compares the suspects with the attackers that the manifest of a localnet names. It returns
// "" if the manifest names none.
func (c chain) played() string {
	if len(c.Attacks) == 0 {
		return ""
	}
	suspects := c.suspects()
	var attackers, missed, wronged []string
	for _, p := range c.State.Participants {
		kind, told := c.Attacks[p.Index]
		_, suspect := suspects[p.Index]
		if told {
			attackers = append(attackers, c.name(p.Index)+" "+kind)
		}
		switch name := c.name(p.Index); {
		case told && !suspect:
			missed = append(missed, name)
		case suspect && !told:
			wronged = append(wronged, name)
		}
	}
	found, others := "all of them were found", "nobody else is suspected"
	if len(missed) > 0 {
		found = "not found: " + strings.Join(missed, ", ")
	}
	if len(wronged) > 0 {
		others = "suspected though honest: " + strings.Join(wronged, ", ")
	}
	return fmt.Sprintf("By the manifest of this localnet these attack: %s. In the chain's record %s; %s.",
		strings.Join(attackers, ", "), found, others)
}

// facts returns what identifies the chain and its result.
func (c chain) facts() experiment.Table {
	t := experiment.Table{Head: []string{"fact", "value"}}
	add := func(name, format string, values ...any) {
		t.Rows = append(t.Rows, []string{name, fmt.Sprintf(format, values...)})
	}
	last := c.Rounds[len(c.Rounds)-1]
	members := 0
	for _, p := range c.State.Participants {
		if p.Active {
			members++
		}
	}
	add("chain", "%s", c.Audit.ChainID)
	add("genesis", "SHA-256 of config/genesis.json: %s", cmp.Or(c.GenesisHash, "not known"))
	add("from, to", "genesis %s, last round %s", c.GenesisTime.UTC().Format(time.DateTime),
		last.Time.UTC().Format(time.DateTime)+" UTC")
	add("blocks", "heights %d to %d, with %d rounds, %d gradients and %d transactions", c.Audit.First, c.Audit.Last,
		c.Audit.Rounds, c.Audit.Gradients, c.Audit.Transactions)
	add("application hash", "%s, after height %d", c.Audit.AppHash, c.Audit.Last)
	add("model", "hash %x, after round %d of epoch %d", last.ModelHash, last.Round, last.Epoch)
	add("participants", "N = %d; the rule withstands f = %d attackers", members, c.Params.Rule.Byzantine)
	add("rule", "%s", c.Params.Rule.Name)
	if math.IsNaN(last.Epsilon) {
		add("privacy", "no DP guarantee")
	} else {
		add("privacy", "epsilon %s of a budget of %g at delta %g: the largest spend of a participant",
			accountant.Text(last.Epsilon), c.Params.Privacy.Epsilon, c.Params.Privacy.Delta)
	}
	return t
}
