package sim_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/apptest"
	"github.com/spdl/spdl/app/params"
	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/app/tx"
	"github.com/spdl/spdl/internal/stage"
	"github.com/spdl/spdl/testnet/sim"
)

// defaultSeeds are the random histories of the long stage; CI plays 1,000 besides.
const defaultSeeds = 60

var (
	seedFlag  = flag.Uint64("seed", 0, "play this history alone and print it")
	seedsFlag = flag.Int("seeds", defaultSeeds, "how many random histories to play")
)

// TestRandom plays random histories: Byzantine leaders and proposers, silent,
// equivocating, partitioned and crashed nodes, never more than f at a time;
// messages late by up to eight steps; joins, leaves, rotations, epochs, upgrades. The
// invariants hold at every height. A history that breaks one names its seed:
// `go test ./testnet/sim -run Random -seed N -v` plays it again.
func TestRandom(t *testing.T) {
	if *seedFlag != 0 {
		h := newHistory(t, *seedFlag)
		if err := h.play(); err != nil {
			t.Fatalf("%s\nseed %d: %v", h.log.String(), *seedFlag, err)
		}
		t.Log(h.log.String())
		return
	}
	seeds := *seedsFlag
	if *seedsFlag == defaultSeeds {
		seeds = stage.Pick(5, 10, defaultSeeds)
	}
	var next atomic.Uint64
	var mu sync.Mutex
	total := tally{}
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			for seed := next.Add(1); seed <= uint64(seeds) && !t.Failed(); seed = next.Add(1) {
				h := newHistory(t, seed)
				err := h.play()
				mu.Lock()
				total.add(h.tally)
				mu.Unlock()
				if err != nil {
					t.Errorf("%s\nseed %d: %v (play it again with -run Random -seed %d -v)", h.log.String(), seed, err, seed)
				}
			}
		})
	}
	wg.Wait()
	t.Logf("%d histories: %+v", seeds, total)
	if seeds >= 30 && (total.Views == 0 || total.Partial == 0 || total.Offences == 0 || total.Joins == 0 ||
		total.Leaves == 0 || total.Epochs == 0 || total.Upgrades == 0 || total.Rejected == 0) {
		t.Errorf("the histories miss something: %+v", total)
	}
}

// TestReplay: one seed gives one history.
func TestReplay(t *testing.T) {
	var logs [2]string
	for i := range logs {
		h := newHistory(t, 7)
		if err := h.play(); err != nil {
			t.Fatal(err)
		}
		logs[i] = h.log.String()
	}
	if logs[0] != logs[1] {
		t.Fatalf("two plays of one seed differ:\n%s\n%s", logs[0], logs[1])
	}
}

// tally counts what histories held.
type tally struct{ Heights, Rounds, Views, Partial, Rejected, Offences, Joins, Leaves, Rotations, Epochs, Upgrades int }

func (a *tally) add(b tally) {
	a.Heights += b.Heights
	a.Rounds += b.Rounds
	a.Views += b.Views
	a.Partial += b.Partial
	a.Rejected += b.Rejected
	a.Offences += b.Offences
	a.Joins += b.Joins
	a.Leaves += b.Leaves
	a.Rotations += b.Rotations
	a.Epochs += b.Epochs
	a.Upgrades += b.Upgrades
}

const (
	heights  = 45
	maxDelay = 8 // steps; the node's gossip of a stalled round takes as long
	// patience is how many heights a round may take: everybody's delay twice, the
	// quorum, and a view for each rank that may be faulty.
	patience = 2*maxDelay + 2 + 3*3 + 6
)

// history is one random run.
type history struct {
	net      *sim.Net
	random   *rand.Rand
	log      strings.Builder
	tally    tally
	rotating map[int]int // node: the generation that it waits for
	upgrades uint64      // that were proposed
	last     int64       // height of the last closed round or epoch
	before   app.Progress
	// committed are the hashes of gradients whose commitments are in a block.
	committed map[string]bool
}

func newHistory(t *testing.T, seed uint64) *history {
	t.Helper()
	h := &history{random: rand.New(rand.NewPCG(seed, 77)), rotating: map[int]int{}, committed: map[string]bool{}}
	n := []int{4, 4, 5, 7}[h.random.IntN(4)]
	rules := []string{"multi-krum", "krum", "trimmed-mean", "nnm+trimmed-mean", "mean"}
	var err error
	h.net, err = sim.New(sim.Config{
		Nodes: n, Seed: seed,
		Params: apptest.Params(n, func(p *params.Params) {
			p.Rule.Name = rules[h.random.IntN(len(rules))]
			p.Training.Rounds = uint64(5 + h.random.IntN(40))
			p.Election.Term = uint64(1 + h.random.IntN(3))
			preset.SetProposers(&p.Election, int(p.Rule.Byzantine))
			p.Election.CommitReveal = seed%3 == 0
			p.Reputation.Penalty = int64(100_000 * (1 + h.random.IntN(10)))
			p.Reputation.Margin = int64(300_000 * h.random.IntN(2))
			p.Reputation.PassedOver = int64(200_000 * h.random.IntN(3))
		}),
		Delay: func(_, _ int, r *rand.Rand) int {
			switch k := r.IntN(20); {
			case k < 15:
				return 0
			case k < 19:
				return 1 + r.IntN(2)
			}
			return 3 + r.IntN(maxDelay-2)
		},
	})
	if err != nil {
		t.Fatalf("seed %d: %v", seed, err)
	}
	return h
}

func (h *history) play() error {
	for range heights {
		h.upgrade()
		if h.random.IntN(6) == 0 {
			h.strike()
		}
		if h.random.IntN(4) == 0 {
			if err := h.govern(); err != nil {
				return err
			}
		}
		b, err := h.net.Step()
		for b == nil && err == nil && h.upgrade() { // one that was away has only now come to the upgrade
			b, err = h.net.Step()
		}
		if err != nil {
			return err
		}
		if b == nil {
			return fmt.Errorf("height %d: no proposal found two thirds with no more than f faulty nodes", h.net.Height()+1)
		}
		h.log.WriteString(h.net.Describe(b))
		if err := h.check(b); err != nil {
			return fmt.Errorf("height %d: %w", b.Height, err)
		}
		if len(h.net.LastEnacted()) > 0 {
			h.strike() // f is another by now
		}
		for i, generation := range h.rotating {
			h.rekey(i, generation)
		}
	}
	return nil
}

// upgrade gives each node that stands before a height of another version of the state machine a
// program of that version, and reports whether there was one.
func (h *history) upgrade() (found bool) {
	for i, node := range h.net.Nodes {
		u, ok := node.App.State().Upgraded()
		if !ok || node.Faults.Down || !node.Stopped() || node.Replace(u.Version) != nil {
			continue
		}
		fmt.Fprintf(&h.log, "node %d: version %d from height %d on\n", i, u.Version, u.Height)
		found = true
		h.tally.Upgrades++
	}
	return found
}

// propose lets a member propose the next version of the state machine, and all others approve it.
func (h *history) propose(by *sim.Node, members []*sim.Node) error {
	h.upgrades++
	height := h.net.State().Height + app.UpgradeMargin + 4 + h.random.Uint64N(6)
	t, err := by.Upgrade(fmt.Sprint("upgrade-", h.upgrades), height, app.Version+h.upgrades)
	if err != nil {
		return err
	}
	id := t.ID()
	for _, m := range members {
		if m != by {
			_, _ = m.Approve(id[:])
		}
	}
	return nil
}

// strike draws again what is wrong: at most f nodes, of those that belong to the
// consortium.
func (h *history) strike() {
	budget, kinds := h.budget(), 10
	if h.net.State().Params.Election.CommitReveal {
		kinds = 13
	}
	for _, i := range h.random.Perm(len(h.net.Nodes)) {
		node := h.net.Nodes[i]
		node.Faults = sim.Faults{}
		if budget == 0 || h.random.IntN(3) == 0 {
			continue
		}
		budget--
		node.Faults = []sim.Faults{
			{Down: true}, {Partitioned: true}, {Silent: true}, {MuteLeader: true}, {WrongAggregate: true, Accomplice: true},
			{TwoAggregates: true}, {TwoGradients: true}, {Opposed: true}, {EmptyBlocks: true, MuteLeader: true},
			{BadBlocks: true, Accomplice: true},
			{Withhold: true}, {LateCommit: true}, {TwoCommits: true},
		}[h.random.IntN(kinds)]
		fmt.Fprintf(&h.log, "node %d: %+v\n", i, node.Faults)
	}
}

// budget returns how many nodes may be faulty: f of the participants, and less than a
// third of the validators, of those to come as well.
func (h *history) budget() int {
	s := h.net.State()
	validators := 0
	for _, p := range s.Participants {
		if p.Active && len(p.ConsensusKey) > 0 {
			validators++
		}
	}
	return min(s.F(), (validators-1)/3, (h.net.Validators()-1)/3)
}

// govern lets something happen to the consortium.
func (h *history) govern() error {
	s := h.net.State()
	var members []*sim.Node
	for _, node := range h.net.Nodes {
		if node.Member() && !node.Faults.Any() {
			members = append(members, node)
		}
	}
	if len(members) == 0 {
		return nil
	}
	node := members[h.random.IntN(len(members))]
	var err error
	switch h.random.IntN(9) {
	case 0:
		if len(h.net.Nodes) > 9 {
			return nil
		}
		if node, err = h.net.AddNode(); err != nil {
			return err
		}
		_, err = node.Join(h.random.IntN(4) == 0)
	case 1:
		if s.Active() > 4 {
			_, err = node.Leave()
		}
	case 2:
		if _, waits := h.rotating[node.Index]; !waits {
			generation := 1 + int(h.net.Height())
			if _, err := node.Rotate(generation); err == nil {
				h.rotating[node.Index] = generation
			}
			return nil
		}
	case 3:
		for _, p := range s.Participants {
			if p.Active && p.Reputation == 0 {
				_, err = node.Restore(p.Index)
			}
		}
	case 4:
		p := s.Params
		p.Training.Rounds = uint64(3 + h.random.IntN(20))
		_, err = node.StartEpoch(p, h.random.IntN(2) == 0, h.random.IntN(2) == 0)
	case 5:
		err = h.propose(node, members)
	default: // who is honest approves what waits
		for i := range s.Proposals {
			for _, m := range members {
				_, _ = m.Approve(s.Proposals[i].Id) // accepted or approved before
			}
		}
	}
	if err != nil { // refused: too much waits, or the consortium may not shrink
		fmt.Fprintf(&h.log, "  %v\n", err)
	}
	return nil
}

// rekey takes the new keys once the chain has them.
func (h *history) rekey(i, generation int) {
	node := h.net.Nodes[i]
	if !node.Member() {
		node.Rekey(generation)
		delete(h.rotating, i)
		h.tally.Rotations++
	}
}

// check holds the invariants of one block.
func (h *history) check(b *sim.Block) error {
	s := h.net.State()
	h.tally.Heights++
	h.tally.Rejected += len(b.Rejected)
	aggregates, gradients := 0, 0
	for _, raw := range b.Txs {
		t, err := tx.Decode(raw)
		if err != nil {
			return err
		}
		switch body := t.Body.(type) {
		case *tx.Aggregate:
			aggregates++
			if body.View > 0 {
				h.tally.Views++
			}
		case *tx.Gradient:
			gradients++
			if s.Params.Election.CommitReveal && !h.committed[string(t.Content[:])] {
				return fmt.Errorf("gradient of participant %d, to which it is not committed", body.Participant)
			}
		case *tx.Commit:
			h.committed[string(body.Hash)] = true
			if aggregates > 0 {
				return fmt.Errorf("commitment of participant %d in the block that closes a round", body.Participant)
			}
		}
	}
	if aggregates > 1 || aggregates == 0 && gradients > 0 {
		return fmt.Errorf("%d aggregates and %d gradients", aggregates, gradients)
	}
	now := s.Progress
	if now.Epoch < h.before.Epoch || now.Epoch == h.before.Epoch && now.Round < h.before.Round {
		return fmt.Errorf("epoch %d round %d after epoch %d round %d", now.Epoch, now.Round, h.before.Epoch, h.before.Round)
	}
	if aggregates == 1 {
		h.tally.Rounds++
		h.last = b.Height
		if now.Epoch == h.before.Epoch && now.Round != h.before.Round+1 {
			return fmt.Errorf("round %d after %d", now.Round, h.before.Round)
		}
	}
	if now.Epoch != h.before.Epoch {
		h.tally.Epochs++
		h.last = b.Height
	}
	h.before = now
	if err := h.checkMembers(s, aggregates == 1, gradients); err != nil {
		return err
	}
	if waited := b.Height - h.last; !s.Finished() && waited > patience {
		return fmt.Errorf("no round closed for %d heights with no more than f = %d faulty nodes", waited, s.F())
	} else if s.Finished() {
		h.last = b.Height
	}
	return nil
}

// checkMembers holds reputations, the included set and the counts.
func (h *history) checkMembers(s *app.State, closed bool, included int) error {
	for _, p := range s.Participants {
		if p.Reputation < 0 || p.Reputation > params.One {
			return fmt.Errorf("reputation %d of participant %d", p.Reputation, p.Index)
		}
	}
	if closed && len(h.net.LastEnacted()) == 0 { // with changes N is another by now
		n, f := s.Active(), s.F()
		if included < n-f || included > n {
			return fmt.Errorf("%d of %d gradients included with f = %d", included, n, f)
		}
		if included < n {
			h.tally.Partial++
		}
	}
	for _, kind := range h.net.LastEnacted() {
		switch kind {
		case "join":
			h.tally.Joins++
		case "remove":
			h.tally.Leaves++
		}
	}
	h.tally.Offences = len(s.Offences)
	return nil
}
