package query

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/cmd/internal/chainview"
	"github.com/spdl/spdl/cmd/internal/explorer"
)

// Trouble says what stands against a participant.
type Trouble struct {
	Participant uint32   `json:"participant"`
	Level       int      `json:"level"` // 3 proven offence, 2 differs: attacker or different patients, 1 fails to lead or to send
	Reasons     []string `json:"reasons"`
}

// The max numbers of rounds, and of gradients in them, that are read to tell what stands against a
// participant.
const recentRounds, recentGradients = 50, 20_000

// remember sets the rounds before the last one: those of the Glance before, which may be nil, and, if
// a participant has trouble, those of the chain. A node after state sync holds fewer.
func (g *Glance) remember(ctx context.Context, c *client.Client, before *Glance) {
	last := g.Last
	if last == nil {
		return
	}
	rounds := uint64(max(1, min(recentRounds, recentGradients/max(1, len(last.Contributions)))))
	first := last.Round - min(last.Round, rounds-1)
	have := map[uint64]bool{last.Round: true}
	g.recent = []app.Record{*last}
	if before != nil && before.Status.ChainID == g.Status.ChainID {
		for _, r := range before.recent {
			if r.Epoch == last.Epoch && r.Round >= first && !have[r.Round] {
				have[r.Round], g.recent = true, append(g.recent, r)
			}
		}
	}
	for round := last.Round; round > first && g.troubled(); round-- {
		if have[round-1] {
			continue
		}
		r, err := c.RoundOf(ctx, last.Epoch, round-1)
		if err != nil {
			break
		}
		g.recent = append(g.recent, r)
	}
	slices.SortFunc(g.recent, func(a, b app.Record) int { return cmp.Compare(a.Round, b.Round) })
}

// troubled reports whether something may stand against a participant.
func (g *Glance) troubled() bool {
	return slices.ContainsFunc(g.Standings, func(p query.Standing) bool {
		c := contribution(g.Last, p.Participant)
		return p.Reputation < params.One || p.Offences > 0 || p.PassedOver > 0 || c == nil ||
			query.Weighs(g.Last.Rule) && c.Score > 0
	})
}

// contribution returns a participant's contribution to a round, which may be nil, or nil.
func contribution(r *app.Record, participant uint32) *app.Contribution {
	if r == nil {
		return nil
	}
	i := slices.IndexFunc(r.Contributions, func(c app.Contribution) bool { return c.Participant == participant })
	if i < 0 {
		return nil
	}
	return &r.Contributions[i]
}

// troubles returns what stands against the participants, the worst first.
func (g *Glance) troubles() []Trouble {
	out := []Trouble{}
	if g.Last == nil {
		return out
	}
	reputation := map[uint32]int64{}
	for _, p := range g.Standings {
		reputation[p.Participant] = p.Reputation
		c := contribution(g.Last, p.Participant)
		level := trouble(p, c, g.tally(p.Participant), len(g.rejected(p.Participant)) > 0)
		reasons := g.reasons(p, c)
		if level > 0 && len(reasons) > 0 {
			out = append(out, Trouble{p.Participant, level, reasons})
		}
	}
	slices.SortStableFunc(out, func(a, b Trouble) int {
		return cmp.Or(cmp.Compare(b.Level, a.Level), cmp.Compare(reputation[a.Participant], reputation[b.Participant]))
	})
	return out
}

// reasons returns what stands against a participant with a contribution to the last round, or nil,
// the gravest first.
func (g *Glance) reasons(p query.Standing, c *app.Contribution) (out []string) {
	out = g.proven(p.Participant)
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if c == nil {
		out = append(out, g.rejected(p.Participant)...)
	}
	opposed, absent := count{}, count{}
	tally := g.tally(p.Participant)
	joined := p.Participations > uint64(tally.Included) // before the rounds that were read
	for i := range g.recent {
		r := &g.recent[i]
		x := contribution(r, p.Participant)
		joined = joined || x != nil
		opposed.add(r, x != nil && x.Opposed)
		absent.add(r, x == nil && joined)
	}
	opposed.say(say, "points away from Delta")
	if weight := tally.MeanWeight(); weight != nil && (len(out) > 0 || p.Reputation <= 0 ||
		chainview.Light(weight, tally.Included)) {
		say("weight %s on average", query.WeightText(weight))
	}
	if p.Reputation <= 0 {
		say("reputation 0")
	}
	if alarm, reason := chainview.Leads(int(p.PassedOver)); alarm != chainview.OK {
		say("%s", reason)
	}
	absent.say(say, "no gradient")
	if p.Offences == 0 && (chainview.Light(tally.MeanWeight(), tally.Included) || often(opposed)) {
		say("%s", chainview.Doubt)
	}
	if c != nil && !c.Selected && !query.Weighs(g.Last.Rule) {
		say("left out of round %d: %s", g.Last.Round, explorer.Why(g.Last, p.Participant))
	}
	return out
}

// proven returns the proven offences of a participant.
func (g *Glance) proven(participant uint32) (out []string) {
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
	return out
}

// rejected returns the reasons for which this node rejected gradients of a participant.
func (g *Glance) rejected(participant uint32) (out []string) {
	for _, x := range g.Refused {
		if x.Signed && x.Participant == participant {
			out = append(out, fmt.Sprintf("this node rejected its gradient of round %d: %s", x.Round,
				explorer.RejectionText(x)))
		}
	}
	return out
}

// tally returns what a participant did in the read rounds.
func (g *Glance) tally(participant uint32) (t chainview.Tally) {
	for i := range g.recent {
		if c := contribution(&g.recent[i], participant); c != nil {
			t.Count(&g.recent[i], *c)
		}
	}
	return t
}

// count counts the rounds with a trouble.
type count struct {
	rounds, of int
	last       uint64
}

func (c *count) add(r *app.Record, is bool) {
	if c.of++; is {
		c.rounds, c.last = c.rounds+1, r.Round
	}
}

// often reports whether the trouble was in enough of the rounds for an alarm.
func often(c count) bool {
	s := chainview.Standing{Included: c.of, Opposed: c.rounds, Reputation: params.One}
	s.Judge(nil)
	return s.Alarm != chainview.OK
}

// say says in how many of the rounds the trouble was, if it was in any.
func (c *count) say(say func(format string, args ...any), what string) {
	if c.rounds > 0 {
		say("%s in %d of %d rounds, last in round %d", what, c.rounds, c.of, c.last)
	}
}

// maxTroubles is the max number of participants whose trouble is shown above the table.
const maxTroubles = 4

// against returns lines with what stands against participants, unless it is no more than a gradient that
// was left out.
func (g *Glance) against() (out []string) {
	by := map[uint32]query.Standing{}
	for _, p := range g.Standings {
		by[p.Participant] = p
	}
	shown := slices.DeleteFunc(slices.Clone(g.Trouble), func(t Trouble) bool {
		alarm, _ := chainview.Leads(int(by[t.Participant].PassedOver))
		return t.Level < 2 && contribution(g.Last, t.Participant) != nil && alarm == chainview.OK
	})
	for _, t := range shown[:min(maxTroubles, len(shown))] {
		reasons := make([]string, len(t.Reasons))
		for i, reason := range t.Reasons {
			reasons[i] = oneLine(reason, 300)
		}
		out = append(out, fmt.Sprintf("against %d %s: %s", t.Participant, oneLine(by[t.Participant].Moniker, monikerRunes),
			strings.Join(reasons, "; ")))
	}
	if len(shown) == 0 && g.Last != nil && g.Votes == nil {
		out = append(out, "no participant is in trouble")
	}
	if more := len(shown) - maxTroubles; more > 0 {
		out = append(out, fmt.Sprintf("and against %d more, who come first in the table", more))
	}
	return out
}

// trouble ranks the trouble of a participant: 3 for a proven offence; 2 for a reputation below a
// half, a gradient that opposed Delta or was rejected, or a low mean weight; 1 for missed turns as leader, or a
// gradient that was left out or is missing; and 0 for none.
func trouble(p query.Standing, c *app.Contribution, t chainview.Tally, refused bool) int {
	alarm, _ := chainview.Leads(int(p.PassedOver))
	switch {
	case p.Offences > 0:
		return 3
	case p.Reputation < chainview.Low, c != nil && c.Opposed, refused && c == nil,
		chainview.Light(t.MeanWeight(), t.Included):
		return 2
	case alarm == chainview.Watch, c == nil || !c.Selected:
		return 1
	}
	return 0
}
