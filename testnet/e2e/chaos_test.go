//go:build e2e

package e2e

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/cometbft/cometbft/p2p"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/testnet"
)

var (
	chaosRun   = flag.Bool("chaos", false, "run the perturbation matrix")
	chaosCell  = flag.String("chaos.cell", "", "the cells whose name this regular expression matches, default all")
	chaosSizes = flag.String("chaos.sizes", "4,7", "the nets' sizes")
	chaosUnits = flag.Uint("chaos.hidden", 0, "hidden units of the model: the state of 256 is written with checkpoints "+
		"alone")
	chaosSeed  = flag.Uint64("chaos.seed", 1, "draws who is struck, when, and what is damaged")
	chaosSlice = flag.Duration("chaos.slice", 0, "run the cells that can be skipped in an order drawn from the seed, "+
		"and begin none after this long")
	chaosTable = flag.String("chaos.table", "", "a file for the table")
)

// within is how long after its faults are healed a net may take until all of its nodes have closed
// settled more rounds. CometBFT dials a lost peer again after 5 to 8 s and gives a silent one up
// after 45 s; a node that was away then fetches blocks. The rest is for machines that are busy.
const (
	within  = 90 * time.Second
	settled = 4
)

// cell is one row of the matrix: what is done to a net that trains.
type cell struct {
	name string
	// faults are struck at once, each after its own time.
	faults func(c *chaos) []testnet.Perturbation
	// do is what no perturbation says.
	do func(c *chaos)
	// attack is how the struck participants misbehave from the start.
	attack string
	// reveal lets the net commit itself to gradients first.
	reveal bool
	// guilty says that the struck have offences on the chain in the end; nobody else ever may.
	guilty bool
	// holes says that blocks may be missing at the struck nodes in the end.
	holes bool
	// strangers are let in by all nodes.
	strangers bool
	// hosts is how many more nodes each struck participant has registered.
	hosts int
	// env is in the environment of all nodes.
	env []string
	// binary gives another program than spdl.
	binary func(t *testing.T) string
	// long cells are in no slice.
	long bool
}

// outcome is a line of the table.
type outcome struct {
	cell          string
	n             int
	rounds, lost  uint64
	stall         time.Duration
	note, verdict string
}

// chaos is a net in a cell, and who is struck.
type chaos struct {
	*net
	cell
	n, f   int
	rng    *rand.Rand
	struck []int         // f of them
	own    []p2p.NodeKey // of their further hosts
	began  time.Time
	notes  []string
}

// TestChaos runs the matrix: make chaos.
func TestChaos(t *testing.T) {
	if !*chaosRun {
		t.Skip("make chaos")
	}
	chosen, err := regexp.Compile(*chaosCell)
	require.NoError(t, err)
	start := time.Now()
	var table []outcome
	defer func() { fmt.Print(report(table)) }()
	for size := range strings.SplitSeq(*chaosSizes, ",") {
		var n int
		_, err := fmt.Sscan(size, &n)
		require.NoError(t, err)
		for _, x := range inOrder() {
			row := outcome{cell: x.name, n: n}
			switch {
			case !chosen.MatchString(x.name):
				continue
			case *chaosSlice > 0 && (x.long || time.Since(start) > *chaosSlice):
				continue
			default:
				t.Run(fmt.Sprintf("%s/%d", x.name, n), func(t *testing.T) { play(t, x, &row) })
			}
			table = append(table, row)
			keep(t, table)
		}
	}
	require.NotEmpty(t, table, "no cell was played: none matches %q", *chaosCell)
}

// inOrder is the cells, in an order drawn from the seed where only some will be run.
func inOrder() []cell {
	all := cells()
	if *chaosSlice > 0 {
		rng := rand.New(rand.NewPCG(*chaosSeed, 0))
		rng.Shuffle(len(all), func(i, k int) { all[i], all[k] = all[k], all[i] })
	}
	return all
}

// play runs one cell on a net of its own.
func play(t *testing.T, x cell, row *outcome) {
	row.verdict = "FAILED"
	t.Cleanup(func() {
		if t.Failed() {
			row.note = "see above"
			t.Logf("repeat: make chaos CELL='^%s$' SIZES=%d SEED=%d", x.name, row.n, *chaosSeed)
		}
	})
	c := begin(t, x, row.n)
	before, quiet := c.pace()
	struck := time.Now()
	c.strike()
	took := time.Since(struck)
	healed := c.highest()
	row.stall = c.recover()
	row.lost = lost(quiet, took, healed-before)
	row.rounds = c.check()
	row.note, row.verdict = strings.Join(c.notes, "; "), "held"
}

// lost is how many rounds fewer than in quiet were closed in some time.
func lost(quiet float64, took time.Duration, closed uint64) uint64 {
	return uint64(max(0, quiet*took.Seconds()-float64(closed)))
}

// begin starts a net for a cell.
func begin(t *testing.T, x cell, n int) *chaos {
	h := fnv.New64a()
	fmt.Fprint(h, x.name, n)
	c := &chaos{net: &net{T: t}, cell: x, n: n, f: (n - 1) / 3, rng: rand.New(rand.NewPCG(*chaosSeed, h.Sum64()))}
	c.struck = c.rng.Perm(n)[:c.f]
	m := testnet.Manifest{Validators: n, Preset: "pixels", Home: t.TempDir(), Rounds: 100_000, Strangers: x.strangers}
	if *chaosUnits > 0 {
		m.Adjust = withHidden(*chaosUnits)
	}
	if x.binary != nil { // a node whose clock is behind the genesis waits for it
		m.GenesisTime = time.Now().Add(-2 * time.Hour)
	}
	if x.reveal {
		m.CommitReveal = &x.reveal
	}
	if x.attack != "" {
		for _, i := range c.struck {
			m.Attacks = append(m.Attacks, testnet.Attack{Node: i, Kind: x.attack})
		}
	}
	if x.faults != nil {
		m.Perturb = x.faults(c)
	}
	made, err := testnet.Init(m)
	require.NoError(t, err)
	if x.hosts > 0 {
		c.register(made, x.hosts)
	}
	program := binary
	if x.binary != nil {
		program = x.binary(t)
	}
	p, err := testnet.StartProcesses(made, program, x.env...)
	require.NoError(t, err)
	c.Processes, c.clients = p, clients(t, made)
	t.Cleanup(func() {
		if t.Failed() {
			for _, i := range c.struck {
				out, _ := os.ReadFile(made.Nodes[i].LogFile())
				t.Logf("struck node %d: ...%s", i, out[max(0, len(out)-2000):])
			}
		}
		if err := p.Stop(); err != nil && !t.Failed() {
			t.Error(err)
		}
	})
	c.reach(3)
	return c
}

// pace returns the highest open round and how many rounds a second the net closes undisturbed.
func (c *chaos) pace() (at uint64, quiet float64) {
	from, start := c.highest(), time.Now()
	time.Sleep(2 * time.Second)
	at = c.highest()
	return at, float64(at-from) / time.Since(start).Seconds()
}

// highest returns the highest open round that any node knows.
func (c *chaos) highest() (at uint64) {
	for i := range c.clients {
		r, _ := c.round(i)
		at = max(at, r)
	}
	return at
}

// strike does what the cell says, and returns when all is healed.
func (c *chaos) strike() {
	c.began = time.Now()
	if c.do != nil {
		c.do(c)
		return
	}
	c.strikeAll(c.Net.Manifest.Perturb...)
}

// strikeAll strikes some faults, each after its own time, and waits until all are healed.
func (c *chaos) strikeAll(faults ...testnet.Perturbation) {
	c.Helper()
	ends := make(chan error)
	for _, x := range faults {
		go func() { ends <- c.Apply(context.Background(), x) }()
	}
	var err error
	for range faults {
		err = errors.Join(err, <-ends)
	}
	require.NoError(c, err)
}

// recover waits until all nodes have closed settled rounds more than any had, and returns the
// longest time in which a node closed none.
func (c *chaos) recover() (stall time.Duration) {
	c.Helper()
	healed := time.Now()
	goal := c.highest() + settled
	last, moved := make([]uint64, len(c.clients)), make([]time.Time, len(c.clients))
	for i := range moved {
		moved[i] = healed
	}
	for done := 0; done < len(c.clients); time.Sleep(20 * time.Millisecond) {
		done = 0
		c.alive()
		for i := range c.clients {
			at, ok := c.round(i)
			if now := time.Now(); ok && at > last[i] {
				if last[i] > 0 || at >= goal {
					stall = max(stall, now.Sub(moved[i]))
				}
				last[i], moved[i] = at, now
			}
			if last[i] >= goal {
				done++
			}
		}
		require.Less(c, time.Since(healed), within, "after the faults were healed the nodes are in rounds %v, want %d in all",
			last, goal)
	}
	return stall
}

// note puts a remark into the table.
func (c *chaos) note(format string, args ...any) {
	c.notes = append(c.notes, fmt.Sprintf(format, args...))
}

// report prints the table.
func report(table []outcome) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%-26s %2s %7s %12s %14s  %-8s %s\n", "cell", "N", "rounds", "rounds lost", "longest stall", "verdict",
		"note")
	for _, r := range table {
		fmt.Fprintf(&b, "%-26s %2d %7d %12d %12.1f s  %-8s %s\n", r.cell, r.n, r.rounds, r.lost, r.stall.Seconds(), r.verdict,
			r.note)
	}
	fmt.Fprintf(&b, "seed %d\n", *chaosSeed)
	return b.String()
}

// keep writes the table into a file where one is named.
func keep(t *testing.T, table []outcome) {
	if *chaosTable != "" {
		require.NoError(t, os.WriteFile(*chaosTable, []byte(report(table)), 0o644))
	}
}
