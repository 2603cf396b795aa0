//go:build e2e

package e2e

import (
	"context"
	"encoding/json"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci/client"
	"github.com/spdl/spdl/abci/query"
	"github.com/spdl/spdl/app/params"
	presets "github.com/spdl/spdl/app/preset"
	"github.com/spdl/spdl/internal/stage"
	"github.com/spdl/spdl/testnet"
)

// TestKillTrainer kills the trainer of one participant of four with SIGKILL 10 or 20 times, at moments
// from a fixed seed. The others close a round while it is away, it takes part again, nothing is
// signed twice, and the chain counts what its journal counts, but for gradients that come behind
// their round.
func TestKillTrainer(t *testing.T) {
	const victim = 3
	kills := stage.Pick(5, 10, 20)
	python := stage.Python(t, "json")
	folder, err := filepath.Abs("../../app/worker/trainer/testdata")
	require.NoError(t, err)
	model := filepath.Join(t.TempDir(), "model.json")
	data, err := json.Marshal(params.Model{Kind: params.ModelExternal, Clipping: params.ClippingRows,
		Tensors: []params.Tensor{{Name: "w", Shape: []uint32{1, 6}, Init: params.InitZeros}}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(model, data, 0o600))
	n := start(t, testnet.Manifest{
		Validators: 4, Preset: presets.NameExternal, Model: model, Examples: 50, Rounds: 5000,
		Trainer: []string{python, "study.py", "right"}, TrainerDir: folder,
		TrainerRead: []string{"../python"},
	})
	n.reach(3)
	rng := rand.New(rand.NewPCG(15, 20))
	for range kills {
		n.eventually(func() bool { return n.killTrainer(victim) }, "node %d starts no trainer", victim)
		before := n.open(0)
		n.eventually(func() bool { at, ok := n.round(0); return ok && at > before },
			"no round closes while the trainer of node %d is away", victim)
		n.rejoined(victim)
		time.Sleep(time.Duration(rng.IntN(300)) * time.Millisecond)
	}
	n.reach(n.open(0) + 5)
	heights := n.sameHashes()
	t.Logf("%d kills of a trainer, %d rounds, %d heights, all hashes equal", kills, n.open(0), heights)
	n.settled(t, victim, kills)
}

// killTrainer kills the child of node i, and reports whether there was one.
func (n *net) killTrainer(i int) bool {
	n.Helper()
	children, err := filepath.Glob("/proc/[0-9]*/stat")
	require.NoError(n, err)
	for _, path := range children {
		text, err := os.ReadFile(path)
		if err != nil {
			continue
		}
		_, after, _ := strings.Cut(string(text), ") ")
		fields := strings.Fields(after) // state, parent
		if len(fields) < 2 || fields[0] == "Z" || fields[1] != strconv.Itoa(n.PID(i)) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(path)))
		require.NoError(n, err)
		return syscall.Kill(pid, syscall.SIGKILL) == nil
	}
	return false
}

// rejoined waits for a round, from now on, that has a gradient of participant i.
func (n *net) rejoined(i int) {
	n.Helper()
	at := n.open(0)
	n.eventually(func() bool {
		last := n.open(0)
		for ; at < last; at++ {
			for _, x := range n.record(0, at).Contributions {
				if int(x.Participant) == i {
					return true
				}
			}
		}
		return false
	}, "participant %d is in no round from %d on", i, at)
}

// settled compares, once all nodes have stopped, their journals with what the chain counts. The
// participants whose trainers lived say how many gradients come behind their round on this machine.
// The victim's may come behind a few more, where a round waited for it in vain and closed just
// then: one to four in 20 kills. A worker that sends its first gradient without waiting for such a
// round pays one a kill, so half of that tells the two apart.
func (n *net) settled(t *testing.T, victim, kills int) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	offences, err := n.clients[0].Evidence(ctx)
	require.NoError(t, err)
	require.Empty(t, offences, "nothing is signed twice")
	for i := range n.clients { // the last answers of the chain come after the last signature of the victim
		if i != 0 {
			require.NoError(t, n.Terminate(i))
		}
	}
	spends, err := client.Ask[[]query.Spend](ctx, n.clients[0], "/privacy")
	require.NoError(t, err)
	rounds := n.open(0)
	late := make([]uint64, len(spends))
	for i := range spends {
		if i == 0 {
			continue
		}
		signed := n.signed(i)
		require.LessOrEqual(t, spends[i].Participations, signed)
		require.LessOrEqual(t, signed, rounds+1, "one a round, and one of the open round")
		late[i] = signed - spends[i].Participations
		t.Logf("participant %d: %d rounds, %d signed, %d counted by the chain", i, rounds, signed, spends[i].Participations)
	}
	others := max(late[1], late[2])
	require.Less(t, late[victim], others+uint64(kills)/2, "epsilon spent for nothing: %v", late)
}

// signed is how many gradients a node's participant has signed, by its journal.
func (n *net) signed(i int) (most uint64) {
	n.Helper()
	data, err := os.ReadFile(filepath.Join(n.Net.Nodes[i].Home, "data", "worker_journal.json"))
	require.NoError(n, err)
	for _, found := range regexp.MustCompile(`"signed": *([0-9]+)`).FindAllSubmatch(data, -1) {
		count, err := strconv.ParseUint(string(found[1]), 10, 64)
		require.NoError(n, err)
		most = max(most, count)
	}
	return most
}
