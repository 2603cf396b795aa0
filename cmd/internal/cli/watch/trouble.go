package watch

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spdl/spdl/cmd/internal/chainview"
)

// Trouble says what stands against a participant.
type Trouble struct {
	Participant uint32   `json:"participant"`
	Level       int      `json:"level"` // 3 proven offence, 2 differs: attacker or different patients, 1 on watch
	Reasons     []string `json:"reasons"`
}

// troubles returns what stands against the participants, the worst first.
func (g *Glance) troubles(judged []chainview.Standing) []Trouble {
	out, reputation := []Trouble{}, map[uint32]int64{}
	for _, s := range judged {
		reputation[s.Participant] = s.Reputation
		x := Trouble{s.Participant, chainview.Rank(s.Alarm), s.Reasons}
		if s.Alarm == chainview.Suspect { // the first reason counts the offences
			x.Reasons = append(g.proven(s.Participant, s.Offences), s.Reasons[1:]...)
		}
		if x.Level > 0 && s.Active {
			out = append(out, x)
		}
	}
	slices.SortStableFunc(out, func(a, b Trouble) int {
		return cmp.Or(cmp.Compare(b.Level, a.Level), cmp.Compare(reputation[a.Participant], reputation[b.Participant]))
	})
	return out
}

// proven returns the last proven offences of a participant, of which a restore settles the earlier ones.
func (g *Glance) proven(participant uint32, last int) (out []string) {
	for _, o := range g.Offences {
		switch {
		case o.Participant != participant:
		case o.Misbehavior != 0:
			out = append(out, fmt.Sprintf("proven offence in block %d: %s at height %d", o.Height, o.Cause(), o.Voted))
		default:
			out = append(out, fmt.Sprintf("proven offence in block %d: two different statements (%s) for round %d", o.Height,
				o.Cause(), o.Round))
		}
	}
	return out[max(0, len(out)-last):]
}

// maxTroubles is the max number of participants whose trouble is shown above the table.
const maxTroubles = 4

// against returns lines with what stands against participants.
func (g *Glance) against() (out []string) {
	names := map[uint32]string{}
	for _, p := range g.Standings {
		names[p.Participant] = p.Moniker
	}
	for _, t := range g.Trouble[:min(maxTroubles, len(g.Trouble))] {
		out = append(out, fmt.Sprintf("against %d %s: %s", t.Participant, oneLine(names[t.Participant], monikerRunes),
			oneLine(strings.Join(t.Reasons, "; "), 350)))
	}
	if len(g.Trouble) == 0 && g.Last != nil && g.Votes == nil {
		out = append(out, "no participant is in trouble")
	}
	if more := len(g.Trouble) - maxTroubles; more > 0 {
		out = append(out, fmt.Sprintf("and against %d more, who come first in the table", more))
	}
	return out
}
