//go:build e2e

package e2e

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/databases"
	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/internal/stage"
	"github.com/spdl/spdl/testnet"
)

// TestKill kills a node of four with SIGKILL 5 or 30 times, at moments from a fixed
// seed, and starts it again: it rejoins, the training goes on without it, and
// all nodes agree on the application hash at every height.
func TestKill(t *testing.T) {
	n := start(t, testnet.Manifest{Validators: 4})
	n.killSometimes(stage.Pick(5, 5, 30), func(int) {})
}

// TestKillWithLargeState does the same with a model of 203,530 parameters, whose state a node defers:
// a killed node starts from an earlier height, and executes the blocks since then again.
func TestKillWithLargeState(t *testing.T) {
	n := start(t, testnet.Manifest{Validators: 4, Adjust: withHidden(256)})
	furthest := int64(0)
	n.killSometimes(stage.Pick(5, 5, 50), func(victim int) {
		c, _, err := home.Load(n.Net.Nodes[victim].Home)
		require.NoError(t, err)
		last, err := databases.CheckStopped(c)
		require.NoError(t, err)
		state, err := home.State(c)
		require.NoError(t, err)
		furthest = max(furthest, last-int64(state.Height))
	})
	require.Greater(t, furthest, int64(2), "of the killed nodes some had not written the state of their last heights")
	t.Logf("a killed node executed up to %d blocks again", furthest)
}

// killSometimes kills a node of four the given number of times, calls look with its index, and starts
// it again. In the end all nodes agree on the application hash at every height.
func (n *net) killSometimes(kills int, look func(victim int)) {
	n.reach(3)
	rng := rand.New(rand.NewPCG(20, 26))
	long := 0 // absences of 2 s and more
	for range kills {
		time.Sleep(time.Duration(rng.IntN(700)) * time.Millisecond)
		victim := rng.IntN(4)
		other := (victim + 1) % 4
		before := n.open(other)
		require.NoError(n, n.Kill(victim))
		away := time.Duration(200+rng.IntN(3000)) * time.Millisecond
		look(victim)
		time.Sleep(away)
		during := n.open(other)
		if away >= 2*time.Second { // the training goes on without it, at whatever speed the machine has
			long++
			n.eventually(func() bool { during, _ = n.round(other); return during > before },
				"no round closes while node %d is away", victim)
		}
		require.NoError(n, n.Start(victim))
		// It must be back before the next one goes: two away are more than f.
		n.reach(during + 1)
	}
	at := n.open(0)
	n.reach(at + 20)
	heights := n.sameHashes()
	n.Logf("%d kills, rounds closed in each of %d absences of 2 s and more, %d rounds, %d heights, all hashes equal",
		kills, long, at+20, heights)
}

// TestResetState resets the state of a killed node of four: its validator's last signature and its
// journal stay byte for byte, and the node syncs the chain and trains again.
func TestResetState(t *testing.T) {
	n := start(t, testnet.Manifest{Validators: 4})
	n.reach(3)
	require.NoError(t, n.Kill(3))
	dir := n.Net.Nodes[3].Home
	signed := func() (all []string) {
		for _, file := range []string{"priv_validator_state.json", "worker_journal.json"} {
			data, err := os.ReadFile(filepath.Join(dir, "data", file))
			require.NoError(t, err)
			all = append(all, string(data))
		}
		return all
	}
	before := signed()
	out, err := exec.Command(binary, "reset-state", "--yes", "--home", dir).CombinedOutput()
	require.NoError(t, err, "%s", out)
	require.Equal(t, before, signed())
	require.NoDirExists(t, filepath.Join(dir, "data", "blockstore.db"))
	require.NoError(t, n.Start(3))
	n.reach(n.open(0) + 10)
	t.Logf("%d heights, all hashes equal", n.sameHashes())
	require.NotEqual(t, before, signed(), "it signs again")
}

// TestRestoredValidator removes the data folder of a killed node of four, as `spdl restore` leaves it:
// the node signs nothing until the others have decided blocks without it, then signs and trains again,
// and nobody is convicted.
func TestRestoredValidator(t *testing.T) {
	n := start(t, testnet.Manifest{Validators: 4})
	n.reach(3)
	require.NoError(t, n.Kill(3))
	c, _, err := home.Load(n.Net.Nodes[3].Home)
	require.NoError(t, err)
	require.NoError(t, os.RemoveAll(c.DBDir()))
	require.NoError(t, n.Start(3))
	var last int64
	n.eventually(func() bool {
		state, err := home.ReadValidatorState(c.PrivValidatorStateFile())
		last = state.Height
		return err == nil && last > 0
	}, "node 3 signs nothing")
	require.NoFileExists(t, home.SignPauseFile(c), "the pause has ended before the first signature")
	n.reach(n.open(0) + 10)
	t.Logf("first signature seen at height %d; %d heights, all hashes equal", last, n.sameHashes())
	offences, err := n.clients[0].Evidence(t.Context())
	require.NoError(t, err)
	require.Empty(t, offences)
}
