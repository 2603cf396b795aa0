package app_test

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/leader"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/internal/stage"
)

var (
	policySearch = flag.Int("policies", 0, "policies that TestPolicies tries for each N and goal, default by the stage")
	policyRounds = flag.Int("policy-rounds", 0, "rounds of the worst policies in TestPolicies, default by the stage")
	policySizes  = flag.String("policy-sizes", "", "values of N of TestPolicies, default by the stage")
	policyMiss   = flag.Float64("policy-miss", -1, "probability in TestPolicies that an honest participant misses a round")
)

// policy is what a coalition of f participants does that break no rule for which there is a proof.
// It knows the state, the honest transactions, and the honest observations. All fields are
// probabilities, numbers of heights with an honest proposer, or bounds on what it still risks.
type policy struct {
	LateCommit, LateReveal, NoCommit, NoReveal float64
	CommitDelay, RevealDelay                   int
	OnlyNeeded                                 bool    // reveals late only where N-f gradients need its own
	InTurn                                     bool    // one member at a time
	MaxStrikes                                 uint32  // members with more strikes behave
	CensorCommits, CensorRounds                float64 // its proposers leave out others' commitments, and rounds of others
	Silent, Omit                               float64 // its leaders let their view pass, and leave out f participants
	LeadDelay                                  int     // heights that its leaders wait
	MaxFaults                                  uint32  // leaders with more faults behave
	SameVictims                                bool    // it leaves out the same participants or those least present
	Present, LateCommits                       float64 // its members say that they are back; commit in the reveal phase
	Grind                                      bool    // members that would win do not commit if the seed is then better
	Slander                                    bool    // its gradients accuse all honest participants
}

func randomPolicy(r *rand.Rand) policy {
	p := []float64{0, 0, 0.1, 0.3, 1}
	one := func() float64 { return p[r.IntN(len(p))] }
	most := []uint32{0, 1, 3, 6, 20}
	return policy{one(), one(), one(), one(), 1 + r.IntN(5), 1 + r.IntN(5), r.IntN(2) == 0, r.IntN(2) == 0,
		most[r.IntN(5)],
		one(), one(), one(), one(), r.IntN(4), most[r.IntN(5)], r.IntN(2) == 0, one(), one(), r.IntN(2) == 0, r.IntN(2) == 0}
}

// vary returns a policy that takes about a quarter of its choices from another one.
func (p policy) vary(r *rand.Rand) policy {
	q := randomPolicy(r)
	take := func() bool { return r.IntN(4) == 0 }
	if take() {
		p.LateCommit, p.CommitDelay, p.NoCommit = q.LateCommit, q.CommitDelay, q.NoCommit
	}
	if take() {
		p.LateReveal, p.RevealDelay, p.NoReveal, p.OnlyNeeded = q.LateReveal, q.RevealDelay, q.NoReveal, q.OnlyNeeded
	}
	if take() {
		p.InTurn, p.MaxStrikes, p.Present, p.LateCommits = q.InTurn, q.MaxStrikes, q.Present, q.LateCommits
	}
	if take() {
		p.CensorCommits, p.CensorRounds = q.CensorCommits, q.CensorRounds
	}
	if take() {
		p.Silent, p.Omit, p.LeadDelay, p.MaxFaults, p.SameVictims = q.Silent, q.Omit, q.LeadDelay, q.MaxFaults, q.SameVictims
	}
	if take() {
		p.Grind, p.Slander = q.Grind, q.Slander
	}
	return p
}

// course is what a training under a policy came to.
type course struct {
	heights, rounds, led int
	absent               []int // by participant, rounds without it in which it was there
}

// slowdown is the heights of a round over the 2 of a round of honest participants.
func (c course) slowdown() float64 { return float64(c.heights) / float64(2*c.rounds) }

// silenced is the largest share of the rounds that closed without an honest participant.
func (c course) silenced() float64 { return float64(slices.Max(c.absent)) / float64(c.rounds) }

func (c course) lead() float64 { return float64(c.led) / float64(c.rounds) }

func (c course) String() string {
	return fmt.Sprintf("%.2fx heights, an honest one left out of %.1f %%, coalition led %.1f %%", c.slowdown(),
		100*c.silenced(), 100*c.lead())
}

// arena is a net of N participants of which 0 to f-1 are the coalition. Their validators are adjacent
// in the rotation of proposers, which is the worst place for the others. With probability miss one
// honest participant restarts in a round, and is back after quorum_blocks+2 honest proposals.
type arena struct {
	policy
	n, f         int
	miss         float64
	rng          *rand.Rand
	s            *app.State
	late, failed map[uint32]bool // what the honest participants observed in the round before
	course       course
	reveals      map[int]*tx.Tx // the round's gradients
	presents     []*tx.Tx
}

func newArena(n int, p policy, miss float64, rounds int) *arena {
	s := apptest.State(n, apptest.CommitReveal, func(p *params.Params) {
		preset.SetProposers(&p.Election, (n-1)/3)
		p.Reputation.PassedOver, p.Training.Rounds, p.Rule.Name = 100_000, uint64(rounds)+1, "mean"
	})
	return &arena{policy: p, n: n, f: (n - 1) / 3, miss: miss, rng: rand.New(rand.NewPCG(1, uint64(n))), s: s,
		course: course{absent: make([]int, n)}}
}

func (a *arena) byzantine(i int) bool { return i < a.f }
func (a *arena) with(p float64) bool  { return a.rng.Float64() < p }

// may reports whether member i of the coalition misbehaves in this round.
func (a *arena) may(i int) bool {
	return a.s.Participants[i].Strikes <= a.MaxStrikes && (!a.InTurn || int(a.s.Progress.Round)%a.f == i)
}

// step executes a block with the given transactions and all Presents that still have an effect.
func (a *arena) step(t *testing.T, txs []*tx.Tx) *app.Outcome {
	for _, p := range a.presents {
		if who := p.Body.(*tx.Present); a.s.MayPresent(&a.s.Participants[who.Participant]) {
			txs = append(txs, p)
		}
	}
	a.presents = nil
	out, err := a.s.Execute(app.Block{Height: a.s.Height + 1, Txs: txs})
	require.NoError(t, err)
	a.s = out.State
	a.course.heights++
	return out
}

// contribute makes the round's gradients, with what their senders observed, and returns after how
// many honest proposals each commitment is there, -1 for never.
func (a *arena) contribute() (there []int) {
	s := a.s
	a.reveals, there = map[int]*tx.Tx{}, make([]int, a.n)
	sorted := func(set map[uint32]bool) (out []uint32) {
		for i := range uint32(a.n) {
			if set[i] {
				out = append(out, i)
			}
		}
		return out
	}
	missed := 0
	for i := range a.n {
		p := &s.Participants[i]
		g := &tx.Gradient{Epoch: s.Progress.Epoch, Round: s.Progress.Round, Participant: uint32(i),
			Payload: apptest.Vector(s.Grid().Width, len(s.Model), s.Progress.Round, uint64(i)).Encode()}
		if g.Late, g.Failed = sorted(a.late), sorted(a.failed); a.byzantine(i) {
			g.Late, g.Failed = nil, nil
			for j := a.f; j < a.n && a.Slander; j++ {
				g.Late, g.Failed = append(g.Late, uint32(j)), append(g.Failed, uint32(j))
			}
		}
		a.reveals[i] = apptest.Sign(i, g)
		switch back := s.MayPresent(p); {
		case !a.byzantine(i) && a.miss > 0 && missed == 0 && a.with(a.miss):
			missed++
			there[i] = int(s.Params.Election.QuorumBlocks) + 2
		case back && (!a.byzantine(i) || a.with(a.Present)):
			a.presents = append(a.presents, apptest.Sign(i, &tx.Present{Participant: uint32(i), Round: s.Progress.Round,
				Nonce: p.Nonce + 1}))
		}
		switch {
		case !a.byzantine(i) || !a.may(i):
		case a.with(a.NoCommit):
			there[i] = -1
		case a.with(a.LateCommit):
			there[i] = a.CommitDelay
		}
	}
	if a.Grind {
		a.grind(there)
	}
	return there
}

// grind lets members whose outputs are the largest of all not commit, if the coalition has a larger
// output over the seed that follows.
func (a *arena) grind(there []int) {
	s := a.s
	outputs := make([]leader.Output, a.n)
	order := apptest.Indices(a.n)
	for i := range outputs {
		outputs[i], _ = leader.OutputOf(apptest.Proof(s, i))
	}
	slices.SortFunc(order, func(x, y int) int { return bytes.Compare(outputs[y][:], outputs[x][:]) })
	best, drop := leader.Output{}, 0
	for k, i := range order {
		if k > 0 && !a.byzantine(order[k-1]) {
			break
		}
		seed := leader.NextSeed(s.Progress.Seed, []leader.Contender{{Output: outputs[i]}})
		for j := range a.f {
			input := leader.Input(apptest.ChainID, s.Progress.Epoch, s.Progress.Round+1, seed)
			out, _ := leader.OutputOf(leader.Prove(apptest.VRFKey(j), input))
			if bytes.Compare(out[:], best[:]) > 0 {
				best, drop = out, k
			}
		}
	}
	for _, i := range order[:drop] {
		if a.may(i) {
			there[i] = -1
		}
	}
}

// round plays the open round. An honest proposer waits for what its height may close with, and an
// honest participant observes who let an honest proposer wait in vain. A Byzantine proposer proposes
// at once, so nobody can be late by its height.
func (a *arena) round(t *testing.T) {
	there := a.contribute()
	late, failed := map[uint32]bool{}, map[uint32]bool{}
	for waits := 0; a.s.Committing(); {
		require.Less(t, waits, 50)
		censors := int(a.s.Height+1)%a.n < a.f && a.with(a.CensorCommits)
		var commits []*tx.Tx
		for i := range a.n {
			if there[i] >= 0 && there[i] <= waits && (!censors || a.byzantine(i)) {
				commits = append(commits, apptest.CommitTo(a.s, i, a.reveals[i]))
			}
		}
		required := a.s
		honest := int(a.s.Height+1)%a.n >= a.f
		out := a.step(t, a.s.Commits(a.s.Height+1, commits, 0))
		for i := range a.n {
			if honest && required.Required(uint32(i)) && (there[i] < 0 || there[i] > waits) && (!out.Revealing || there[i] < 0) {
				late[uint32(i)] = true
			}
		}
		if honest {
			waits++
		}
	}
	a.reveal(t, there, late, failed)
	a.late, a.failed = late, failed
}

// reveal plays the reveal phase.
func (a *arena) reveal(t *testing.T, committed []int, late, failed map[uint32]bool) {
	opened, began := a.s.Progress.Opened, a.s
	there, took := make([]int, a.n), len(a.s.Progress.Commitments)
	for i := range a.f {
		needed := took <= a.n-a.f
		switch {
		case !a.may(i) || a.OnlyNeeded && !needed:
		case a.with(a.NoReveal):
			there[i] = -1
		case a.with(a.LateReveal):
			there[i] = a.RevealDelay
		}
	}
	moods := make([]float64, a.n) // what the coalition's leaders do in this round
	for i := range moods {
		moods[i] = a.rng.Float64()
	}
	for waits := 0; ; {
		height := a.s.Height + 1
		require.Less(t, height, opened+200)
		honest := int(height)%a.n >= a.f
		var visible []*tx.Tx
		shown := map[uint32]bool{}
		for i := range a.n {
			if a.s.Commitment(uint32(i)) != nil && there[i] >= 0 && there[i] <= waits {
				visible, shown[uint32(i)] = append(visible, a.reveals[i]), true
			}
		}
		pending, silent := slices.Clone(visible), []uint32(nil)
		ready := len(visible) >= a.n-a.f && (a.s.MissingRequired(indices(visible)) == 0 || height >= opened+
			a.s.Params.Election.QuorumBlocks)
		leaders := slices.Concat(a.s.Progress.Ranking, []uint32{uint32(a.n - 1)}) // behind the ranking all may lead
		for view := uint64(0); view <= min(a.s.OpenView(height), uint64(len(leaders))-1); view++ {
			lead := leaders[view]
			if x := a.aggregate(lead, height, visible, moods[lead], waits); x != nil {
				pending = append(pending, x)
			} else if ready {
				silent = append(silent, lead)
			}
		}
		txs := a.s.Assemble(height, pending, 0)
		if !honest && txs != nil && !a.byzantine(int(txs[0].Aggregate.Leader)) && a.with(a.CensorRounds) {
			txs = nil
		}
		if txs == nil && a.s.TakesCommits(height) {
			txs = a.lateCommits(committed, height, waits)
		}
		before := a.s
		out := a.step(t, txs)
		if out.Record != nil {
			a.count(before, began, out.Record, waits, shown, failed)
			return
		}
		if !honest {
			continue
		}
		waits++
		for i := range uint32(a.n) {
			if before.Required(i) && !shown[i] {
				late[i] = true
			}
		}
		for _, index := range silent {
			failed[index] = true
		}
	}
}

func indices(txs []*tx.Tx) (out []uint32) {
	for _, t := range txs {
		out = append(out, t.Gradient.Participant)
	}
	return out
}

// lateCommits returns the commitments that members, and honest participants that are back, bring to
// the reveal phase.
func (a *arena) lateCommits(committed []int, height uint64, waits int) []*tx.Tx {
	var commits []*tx.Tx
	for i := range a.n {
		back := !a.byzantine(i) && waits >= int(a.s.Params.Election.QuorumBlocks)
		if a.s.Commitment(uint32(i)) == nil && (back || a.byzantine(i) && committed[i] < 0 && a.with(a.LateCommits)) {
			commits = append(commits, apptest.CommitTo(a.s, i, a.reveals[i]))
		}
	}
	return a.s.Commits(height, commits, 0)
}

// aggregate returns the aggregate of a leader, nil if it has none at this height. mood decides what
// a leader of the coalition does, and waits is the number of honest proposals that waited so far.
func (a *arena) aggregate(lead uint32, height uint64, visible []*tx.Tx, mood float64, waits int) *tx.Tx {
	if a.byzantine(int(lead)) && a.s.Participants[lead].PassedOver <= a.MaxFaults {
		switch {
		case mood < a.Silent, waits < a.LeadDelay:
			return nil
		case mood < a.Silent+a.Omit:
			if omitted := a.omit(visible); a.s.MissingRequired(indices(omitted)) == 0 || height >= a.s.Progress.Opened+
				a.s.Params.Election.QuorumBlocks {
				visible = omitted
			} else {
				return nil
			}
		}
	}
	draft, err := a.s.DraftAggregate(height, lead, visible)
	if err != nil {
		return nil
	}
	return apptest.Sign(int(lead), draft)
}

// omit leaves honest gradients out of a list of gradients, as many as the list has to spare.
func (a *arena) omit(visible []*tx.Tx) []*tx.Tx {
	spare := len(visible) - (a.n - a.f)
	victims := slices.DeleteFunc(indices(visible), func(i uint32) bool { return a.byzantine(int(i)) })
	slices.SortStableFunc(victims, func(x, y uint32) int {
		if a.SameVictims {
			return int(y) - int(x)
		}
		return a.course.absent[y] - a.course.absent[x]
	})
	victims = victims[:max(0, min(spare, len(victims)))]
	return slices.DeleteFunc(slices.Clone(visible), func(t *tx.Tx) bool {
		return slices.Contains(victims, t.Gradient.Participant)
	})
}

// count counts a closed round, and whether its leader left out a gradient that was there.
func (a *arena) count(before, began *app.State, r *app.Record, waits int, shown, failed map[uint32]bool) {
	a.course.rounds++
	if a.byzantine(int(r.Leader)) {
		a.course.led++
	}
	in := map[uint32]bool{}
	for _, c := range r.Contributions {
		in[c.Participant] = true
	}
	for i := range a.n {
		index := uint32(i)
		if in[index] {
			continue
		}
		if shown[index] && waits > 0 && began.Required(index) {
			failed[r.Leader] = true
		}
		if !a.byzantine(i) && (before.Commitment(index) != nil || a.miss == 0) {
			a.course.absent[i]++
		}
	}
}

// play plays a number of rounds under a policy.
func play(t *testing.T, n int, p policy, miss float64, rounds int) course {
	a := newArena(n, p, miss, rounds)
	for range rounds {
		a.round(t)
	}
	return a.course
}

// worst searches for the policy with the largest value of a goal, by chance and from the best so far.
func worst(t *testing.T, n, tries, rounds int, miss float64, goal func(course) float64) policy {
	rng := rand.New(rand.NewPCG(11, uint64(n)))
	best, value := policy{}, -1.0
	for k := range tries {
		p := randomPolicy(rng)
		if k >= tries/2 {
			p = best.vary(rng)
		}
		if v := goal(play(t, n, p, miss, rounds)); v > value {
			best, value = p, v
		}
	}
	return best
}

// TestPolicies: the worst policy that a search finds for a coalition of f makes rounds at most twice
// as long as they are without it, leaves no honest participant out of more than a third of them, and
// leads at most its share and three points more. The table of ADR 41 is that of
//
//	go test ./app -run TestPolicies -v -timeout 3h -policy-sizes 4,7,10,19,31 -policies 24 \
//		-policy-rounds 10000 -policy-miss 0
func TestPolicies(t *testing.T) {
	goals := []struct {
		name  string
		value func(course) float64
	}{{"slow", course.slowdown}, {"silence", course.silenced}, {"lead", course.lead}}
	tries, rounds := *policySearch, *policyRounds
	if tries == 0 {
		tries = stage.Pick(3, 3, 12)
	}
	if rounds == 0 {
		rounds = stage.Pick(60, 60, 300)
	}
	misses := []float64{0, 0.02}
	if *policyMiss >= 0 {
		misses = []float64{*policyMiss}
	}
	var sizes []int
	for field := range strings.SplitSeq(cmp.Or(*policySizes, stage.Pick("4", "4", "4,7,10")), ",") {
		var n int
		_, err := fmt.Sscan(field, &n)
		require.NoError(t, err)
		sizes = append(sizes, n)
	}
	for _, n := range sizes {
		share := float64((n-1)/3) / float64(n)
		for _, miss := range misses {
			honest := play(t, n, policy{}, miss, rounds)
			t.Logf("N=%d, misses %.2f, nobody hostile: %v", n, miss, honest)
			for _, g := range goals {
				p := worst(t, n, tries, min(rounds, 150), miss, g.value)
				c := play(t, n, p, miss, rounds)
				t.Logf("N=%d, misses %.2f, %s: %v\n\t%+v", n, miss, g.name, c, p)
				require.LessOrEqual(t, c.slowdown(), 2*honest.slowdown(), "N=%d %s", n, g.name)
				require.LessOrEqual(t, c.silenced(), 1.0/3, "N=%d %s", n, g.name)
				require.LessOrEqual(t, c.lead(), share+0.03+2.0/float64(rounds), "N=%d %s", n, g.name)
			}
		}
	}
}
