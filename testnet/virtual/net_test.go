//go:build virtual

package virtual

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cometbft/cometbft/libs/log"
	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/preset"
)

var (
	seeds  = flag.Int("seeds", 4, "number of histories")
	first  = flag.Uint64("first", 1, "seed of the first history")
	nodes  = flag.Int("nodes", 4, "number of nodes")
	length = flag.Duration("time", 10*time.Minute, "virtual time of a history, to its last fault")
)

// TestMain starts the runtime's goroutine of signals, which belongs to no bubble: CometBFT's log of
// consensus asks for a signal.
func TestMain(m *testing.M) {
	signal.Notify(make(chan os.Signal, 1), syscall.SIGUSR2)
	os.Exit(m.Run())
}

// history plays one history: nodes far apart, with faults in random order. It notes the faults, and
// checks the invariants after each.
func history(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 0))
	n := *nodes
	p, err := preset.New("pixels", n)
	require.NoError(t, err)
	began := time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC) // a bubble's first moment
	delays := map[[2]int]time.Duration{}
	for i := range n {
		for j := range i {
			delays[[2]int{j, i}] = time.Duration(1+rng.IntN(125)) * time.Millisecond
		}
	}
	v, err := Make(t.TempDir(), n, p, began, func(i, j int) time.Duration { return delays[[2]int{i, j}] })
	require.NoError(t, err)
	if os.Getenv("VIRTUAL_LOG") != "" {
		v.Log = log.NewTMLogger(log.NewSyncWriter(os.Stdout))
	}
	clock := time.Now()
	var took time.Duration
	var height uint64
	faults := 0
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var said []string
		note := func(format string, args ...any) {
			said = append(said, fmt.Sprintf("%8s height %d: ", time.Since(start).Round(time.Millisecond), v.Height())+
				fmt.Sprintf(format, args...))
		}
		defer func() {
			if t.Failed() {
				t.Logf("seed %d\n", seed)
				for _, line := range said {
					t.Log(line)
				}
			}
		}()
		for i := range n {
			require.NoError(t, v.Start(i))
		}
		progress := func() { // a round closes within two minutes without faults
			from := v.Height()
			for range 120 {
				if time.Sleep(time.Second); v.Height() >= from+3 {
					return
				}
			}
			note("no progress")
			require.FailNow(t, "the chain stands", "at height %d, seed %d", from, seed)
		}
		progress()
		for time.Since(start) < *length {
			i, d := rng.IntN(n), time.Duration(1+rng.IntN(40))*time.Second
			switch faults++; rng.IntN(4) {
			case 0:
				note("node %d is cut off for %v", i, d)
				v.Partition(i)
				time.Sleep(d)
				v.Heal()
			case 1:
				j := (i + 1 + rng.IntN(n-1)) % n
				note("the connection of %d and %d breaks", i, j)
				require.NoError(t, v.Link(i, j))
			case 2:
				note("node %d is down for %v", i, d)
				require.NoError(t, v.Stop(i))
				time.Sleep(d)
				require.NoError(t, v.Start(i))
			case 3:
				note("half of the net is cut off for %v", d)
				some := rng.Perm(n)[:n/2]
				v.Partition(some...)
				time.Sleep(d)
				v.Heal()
			}
			progress()
			require.NoError(t, v.Check())
		}
		took, height = time.Since(start), v.Height()
		require.NoError(t, v.Close())
		time.Sleep(5 * time.Minute) // goroutines of CometBFT and LevelDB end when they wake up
	})
	t.Logf("seed %d: %v of virtual time in %v, height %d, %d faults", seed, took.Round(time.Second),
		time.Since(clock).Round(time.Millisecond), height, faults)
}

// TestHistories plays -seeds histories from seed -first on.
func TestHistories(t *testing.T) {
	for i := range *seeds {
		seed := *first + uint64(i)
		t.Run(fmt.Sprint(seed), func(t *testing.T) { history(t, seed) })
	}
}
