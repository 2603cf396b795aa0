//go:build e2e

package e2e

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/testnet"
)

// TestKill kills a node of four with SIGKILL 30 times, at moments from a fixed
// seed, and starts it again: it rejoins, the training goes on meanwhile, and
// all nodes agree on the application hash at every height.
func TestKill(t *testing.T) {
	const kills = 30
	n := start(t, testnet.Manifest{Validators: 4})
	n.reach(3, time.Minute)
	rng := rand.New(rand.NewPCG(20, 26))
	long, progress := 0, 0 // absences of 2 s and more, and those in which a round closed
	for range kills {
		time.Sleep(time.Duration(rng.IntN(700)) * time.Millisecond)
		victim := rng.IntN(4)
		other := (victim + 1) % 4
		before, _ := n.round(other)
		require.NoError(t, n.Kill(victim))
		away := time.Duration(200+rng.IntN(3000)) * time.Millisecond
		time.Sleep(away)
		during, ok := n.round(other)
		require.True(t, ok)
		if away >= 2*time.Second {
			long++
			if during > before {
				progress++
			}
		}
		require.NoError(t, n.Start(victim))
		// It must be back before the next one goes: two away are more than f.
		n.reach(during+1, time.Minute)
		n.alive()
	}
	at, ok := n.round(0)
	for !ok {
		time.Sleep(100 * time.Millisecond)
		at, ok = n.round(0)
	}
	n.reach(at+20, 2*time.Minute)
	heights := n.sameHashes()
	t.Logf("%d kills, rounds closed in %d of %d absences of 2 s and more, %d rounds, %d heights, all hashes equal", kills, progress, long, at+20, heights)
	require.Greater(t, 2*progress, long, "the training must go on while a node is away")
}
