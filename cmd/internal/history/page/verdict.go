package page

import (
	"fmt"
	"math"
	"strings"

	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/history"
)

// verdict returns the result of the training in one line.
func (c chain) verdict() string {
	last := c.Rounds[len(c.Rounds)-1]
	accuracy, epsilon := "test accuracy not measured", "no DP guarantee"
	if !math.IsNaN(last.Accuracy) {
		accuracy = fmt.Sprintf("test accuracy %.2f %%", 100*last.Accuracy)
		if last.Tested > 0 {
			accuracy += fmt.Sprintf(" of %d rows", last.Tested)
		}
	}
	if !math.IsNaN(last.Epsilon) {
		epsilon = fmt.Sprintf("epsilon %.3f", last.Epsilon)
		if budget := c.Params.Privacy.Epsilon; budget > 0 {
			epsilon += fmt.Sprintf(" of %g", budget)
		}
	}
	return fmt.Sprintf("After round %d of epoch %d: %s, %s.", last.Round, last.Epoch, accuracy, epsilon)
}

// The share of opposed gradients that makes a participant suspect, the min number of gradients for
// it, and the number of passed-over turns that does, as in the explorer.
const suspectShare, fewest, suspectPassed = 0.6, 4, 4

// suspects says which participants look like attackers over the whole history, in the explorer's
// words. It returns "" if none does.
func (c chain) suspects() string {
	offences := map[uint32]int{}
	for _, o := range c.Audit.Offences {
		offences[o.Participant]++
	}
	var all []string
	for i, p := range c.State.Participants {
		var n history.Tally
		if i < len(c.Count) {
			n = c.Count[i]
		}
		var reasons []string
		if k := offences[p.Index]; k > 0 {
			reasons = append(reasons, fmt.Sprintf("proven offences: %d", k))
		}
		if p.Active && p.Reputation <= 0 {
			reasons = append(reasons, fmt.Sprintf("reputation %g", float64(p.Reputation)/params.One))
		}
		if p.PassedOver >= suspectPassed {
			reasons = append(reasons, fmt.Sprintf("passed over as leader %d times more than it led since", p.PassedOver))
		}
		if n.Included >= fewest && float64(n.Opposed) >= suspectShare*float64(n.Included) {
			reasons = append(reasons, fmt.Sprintf("opposed to Delta in %d of %d", n.Opposed, n.Included))
		}
		if len(reasons) > 0 {
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
