//go:build virtual

package virtual

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cometbft/cometbft/libs/log"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/testnet/link"
)

var (
	seeds  = flag.Int("seeds", 4, "number of histories")
	first  = flag.Uint64("first", 1, "seed of the first history")
	nodes  = flag.Int("nodes", 4, "number of nodes")
	length = flag.Duration("time", 10*time.Minute, "virtual time of a history")
	file   = flag.String("history", "", "the file of TestFile")
	twins  = flag.Int("twins", 0, "number of Twins scenarios, spread over all of them")
	shrink = flag.Int("shrink", 20, "how often parts of a history that fails are played to shrink it")
)

// TestMain starts the runtime's goroutine for signals outside of every bubble, because CometBFT's
// write-ahead log waits for a signal.
func TestMain(m *testing.M) {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGUSR2)
	debug.SetGCPercent(400) // the heap of a net is small
	os.Exit(m.Run())
}

// disk returns a folder for homes. The folder is in memory if the machine has such a file system,
// because nodes wait for every write.
func disk(t *testing.T) string {
	dir, err := os.MkdirTemp("/dev/shm", "virtual")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// gossipPause is how long CometBFT's gossip to each peer sleeps when it has nothing to send. With
// the 5 ms of a home, gossip would use most of the time in a net of twenty nodes.
const gossipPause = 25 * time.Millisecond

// run plays a history in a bubble.
func run(t *testing.T, h History) (o Outcome, failed error) {
	images, err := Small()
	require.NoError(t, err)
	p, err := preset.Make("pixels", h.Nodes, preset.Own{Rounds: 100_000, Data: &preset.Data{Examples: images.Len(),
		Rows: images.Rows, Cols: images.Cols, Classes: images.Classes()}})
	require.NoError(t, err)
	p.Election.CommitReveal = p.Election.CommitReveal && !h.Plain
	began := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // the time at which every bubble begins
	rng := rand.New(rand.NewPCG(h.Seed, 1))
	delays := map[[2]int]time.Duration{}
	for i := range h.Nodes + 1 {
		for j := range i {
			delays[[2]int{j, i}] = time.Duration(1+rng.IntN(125)) * time.Millisecond
		}
	}
	dir := disk(t)
	far := func(i, j int) link.Rule { return link.Rule{Delay: delays[[2]int{min(i, j), max(i, j)}]} }
	v, err := Make(dir, h, p, Small, began, far)
	require.NoError(t, err)
	for _, m := range v.nodes {
		m.config.Consensus.PeerGossipSleepDuration = gossipPause
	}
	if os.Getenv("VIRTUAL_LOG") != "" {
		v.Log = log.NewTMLogger(log.NewSyncWriter(os.Stdout))
	}
	synctest.Test(t, func(*testing.T) {
		if o, failed = play(v, h); failed != nil {
			fmt.Printf("seed %d: %v\n", h.Seed, failed) // printed now, because the bubble may not end
		}
		time.Sleep(5 * time.Minute) // goroutines of CometBFT and LevelDB end when they wake up
	})
	require.NoError(t, os.RemoveAll(dir))
	return o, failed
}

// judge plays a history. If the history fails, judge prints the smallest part that still fails.
func judge(t *testing.T, h History) {
	start := time.Now()
	o, err := run(t, h)
	if err == nil {
		fmt.Printf("seed %d: %v of virtual time in %v, height %d, %d rounds, %d faults, %d views passed, %d offences, "+
			"gradients %v\n", h.Seed, o.Took.Round(time.Second), time.Since(start).Round(100*time.Millisecond), o.Height,
			o.rounds, o.Faults, o.views, o.Offences, o.included)
		return
	}
	t.Errorf("seed %d: %v\n%v", h.Seed, err, h)
	if *shrink > 0 {
		last := err
		smallest := Shrink(h, func(part History) bool {
			_, err := run(t, part)
			if err != nil {
				last = err
			}
			return err != nil
		}, *shrink)
		fmt.Printf("the smallest part that fails (make vsim HISTORY=FILE plays it): %v\n%v", last, smallest)
	}
}

// apart plays a history in its own process, because the bounds of memory and goroutines are for one
// process. As many processes run at once as there are cores, because a net uses one core.
func apart(t *testing.T, name string, h History) {
	t.Run(name, func(t *testing.T) {
		t.Parallel()
		file := filepath.Join(t.TempDir(), "history")
		require.NoError(t, os.WriteFile(file, []byte(h.String()), 0o600))
		left := time.Hour
		if end, ok := t.Deadline(); ok {
			left = time.Until(end) - 10*time.Second
		}
		c := exec.Command(os.Args[0], "-test.run", "^TestFile$", "-test.timeout", left.String(), "-history", file,
			"-shrink", fmt.Sprint(*shrink))
		out, err := c.CombinedOutput()
		fmt.Print(strings.TrimSuffix(string(out), "PASS\n"))
		require.NoError(t, err)
	})
}

// TestFile plays the history in the file -history.
func TestFile(t *testing.T) {
	text, err := os.ReadFile(*file)
	require.NoError(t, err)
	h, err := Parse(string(text))
	require.NoError(t, err)
	judge(t, h)
}

// TestHistories plays -seeds histories, beginning with the seed -first.
func TestHistories(t *testing.T) {
	for i := range *seeds {
		seed := *first + uint64(i)
		apart(t, fmt.Sprint(seed), Random(seed, *nodes, *length, Names()))
	}
}

// TestTwinScenarios plays -twins scenarios of Twins.
func TestTwinScenarios(t *testing.T) {
	for k := 0; k < *twins; k += twinsANet {
		step := max(1, TwinScenarios / *twins)
		apart(t, fmt.Sprint(k), Twins(k*step, step, min(twinsANet, *twins-k)))
	}
}

// TestScenarios plays the histories in testdata. Each repeats a past fault of the network or of
// timing, or lets adversaries attack. Every adversary is in one of them.
func TestScenarios(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	unplayed := Names()
	for _, name := range files {
		text, err := os.ReadFile(name)
		require.NoError(t, err)
		h, err := Parse(string(text))
		require.NoError(t, err)
		unplayed = slices.DeleteFunc(unplayed, func(name string) bool {
			return slices.ContainsFunc(h.Events, func(e Event) bool { return e.Name == name })
		})
		apart(t, strings.TrimSuffix(filepath.Base(name), ".txt"), h)
	}
	require.Empty(t, unplayed)
}
