//go:build e2e

package e2e

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/app/worker"
	"github.com/spdl/spdl/internal/stage"
	"github.com/spdl/spdl/testnet"
)

// split moves the participant's keys and journal of a node to a signer's home, and returns that home
// and the signer's command line.
func split(t *testing.T, node string) (home string, line []string) {
	t.Helper()
	home = filepath.Join(t.TempDir(), "signer")
	sockets, err := os.MkdirTemp("", "s") // a socket's path has at most 107 bytes
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(sockets) })
	out, err := exec.Command(binary, "signer", "init", home, "--home", node, "--listen",
		"unix://"+filepath.Join(sockets, "s")).CombinedOutput()
	require.NoError(t, err, string(out))
	return home, []string{"signer", "--home", home, "--log-level", "error"}
}

// process is a command that a test kills and starts again.
type process struct {
	*testing.T
	line []string
	cmd  *exec.Cmd
	used time.Duration // CPU time of the earlier starts
}

func launch(t *testing.T, line []string) *process {
	t.Helper()
	p := &process{T: t, line: line}
	p.start()
	t.Cleanup(func() { p.end(syscall.SIGKILL) })
	return p
}

func (p *process) start() {
	p.Helper()
	p.cmd = exec.Command(binary, p.line...)
	p.cmd.Stderr = os.Stderr
	require.NoError(p, p.cmd.Start())
}

func (p *process) end(by os.Signal) {
	if p.cmd.ProcessState != nil {
		return
	}
	_ = p.cmd.Process.Signal(by)
	_ = p.cmd.Wait() // killed
	p.used += p.cmd.ProcessState.UserTime() + p.cmd.ProcessState.SystemTime()
}

// variable returns a number of the environment, to repeat a test at another size.
func variable(t *testing.T, name string, or uint64) uint64 {
	t.Helper()
	text := os.Getenv(name)
	if text == "" {
		return or
	}
	n, err := strconv.ParseUint(text, 10, 64)
	require.NoError(t, err, name)
	return n
}

// participant returns a participant as node 0 knows it.
func (n *net) participant(i int) (p app.Participant) {
	n.Helper()
	n.eventually(func() bool {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		all, err := n.clients[0].Participants(ctx)
		if err == nil {
			p = all[i]
		}
		return err == nil
	}, "node 0 does not answer")
	return p
}

// TestParticipantSigner trains with a participant whose keys and journal a signer in another process
// holds, and whose validator's key another signer holds. Both signers and the node are killed with
// SIGKILL in turn, four times or ten times in all, and stay away until two rounds have closed without the
// participant. It takes part again each time, it signs no second gradient for a round, and its ledger
// never falls below the chain's.
//
// SPDL_TEST_SIGNER_ROUNDS=500 goes on for that number of rounds, with a kill every 25. With
// SPDL_TEST_SIGNER_STEP=500, in milliseconds, a step takes that time longer. SPDL_TEST_SIGNER_AWAY=0 starts
// the killed processes again at once, as a service manager does; 1 waits for the two rounds.
func TestParticipantSigner(t *testing.T) {
	const victim = 3
	step, away := variable(t, "SPDL_TEST_SIGNER_STEP", 0), variable(t, "SPDL_TEST_SIGNER_AWAY", 1) > 0
	var home string
	var keys, blocks *process
	m := testnet.Manifest{Validators: 4, StepDelay: time.Duration(step) * time.Millisecond}
	n := start(t, m, func(made *testnet.Net) {
		var line []string
		home, line = split(t, made.Nodes[victim].Home)
		require.NoFileExists(t, filepath.Join(made.Nodes[victim].Home, "config", "participant_key.json"))
		keys = launch(t, line)
		blocks = launch(t, vault(t, made.Nodes[victim].Home, t.TempDir()))
	})
	takesPart := func() {
		t.Helper()
		before := n.participant(victim).Participations
		n.eventually(func() bool { return n.participant(victim).Participations > before },
			"the signer's gradients do not count")
	}
	goesOn := func() {
		t.Helper()
		if !away {
			return
		}
		before := n.open(0)
		n.eventually(func() bool { at, ok := n.round(0); return ok && at > before+1 }, "no round closes without the signer")
	}
	takesPart()
	out, err := exec.Command(binary, keys.line...).CombinedOutput()
	require.Error(t, err)
	require.Contains(t, string(out), "another process uses it")
	rounds, kills, all := variable(t, "SPDL_TEST_SIGNER_ROUNDS", 0), 0, stage.Pick(4, 4, 10)
	began, counted := n.open(0), n.participant(victim).Participations
	for every := uint64(25); kills < all || n.open(0) < began+rounds; kills++ {
		if next := began + uint64(kills+1)*every; rounds > 0 {
			n.eventually(func() bool { at, ok := n.round(0); return ok && at >= next }, "round %d does not open", next)
		}
		switch kills % 4 {
		case 0, 2:
			keys.end(syscall.SIGKILL)
			goesOn()
			keys.start()
		case 1:
			require.NoError(t, n.Kill(victim))
			goesOn()
			require.NoError(t, n.Start(victim))
		case 3:
			blocks.end(syscall.SIGKILL)
			keys.end(syscall.SIGKILL)
			require.NoError(t, n.Kill(victim))
			goesOn()
			blocks.start()
			require.NoError(t, n.Start(victim)) // with the participant's signer away: the node starts all the same
			n.eventually(func() bool { _, ok := n.round(victim); return ok }, "a node does not start without its signer")
			keys.start()
		}
		takesPart()
	}
	n.reach(n.open(0) + 3)
	for i := range 4 {
		offences, err := n.clients[i].Evidence(context.Background())
		require.NoError(t, err)
		require.Empty(t, offences)
	}
	ended, at := n.participant(victim), n.open(0)
	keys.end(syscall.SIGTERM)
	info, err := worker.ReadJournalInfo(filepath.Join(home, "data", "worker_journal.json"))
	require.NoError(t, err)
	chain := n.participant(victim).Participations
	require.GreaterOrEqual(t, info.Signed, chain, "the signer's journal lacks a gradient that the chain counts")
	took := ended.Participations - counted
	heights := n.sameHashes()
	t.Logf("%d kills, %d rounds, %d with the participant, %d lost to it; %d gradients signed, %d counted, %d signed for "+
		"rounds that closed without them; %d heights, all hashes equal, no offence", kills, at-began, took,
		at-began-took, info.Signed, chain, info.Signed-chain, heights)
	log, err := os.ReadFile(n.Net.Nodes[victim].LogFile())
	require.NoError(t, err)
	said := strings.Count(string(log), "the signer does not answer")
	require.True(t, said > 0 || !away)
	require.LessOrEqual(t, said, 8*kills, "the node says once that its signer is away, not at each try")
}

// TestSignerCost measures what signers in other processes cost: rounds with the keys of node 3 in its
// process and with both signers beside it, in turn. It runs with SPDL_TEST_SIGNER_COST=200, the number of
// rounds of each net.
func TestSignerCost(t *testing.T) {
	rounds := variable(t, "SPDL_TEST_SIGNER_COST", 0)
	if rounds == 0 {
		t.Skip("set SPDL_TEST_SIGNER_COST to the number of rounds")
	}
	for turn := range 6 {
		t.Run(fmt.Sprintf("%d", turn), func(t *testing.T) {
			var apart []*process
			n := start(t, testnet.Manifest{Validators: 4}, func(made *testnet.Net) {
				if turn%2 == 1 {
					_, line := split(t, made.Nodes[3].Home)
					apart = append(apart, launch(t, line), launch(t, vault(t, made.Nodes[3].Home, t.TempDir())))
				}
			})
			n.reach(5)
			from, counted, begun := n.open(0), n.participant(3).Participations, time.Now()
			before, _ := n.CPU()
			n.eventually(func() bool { at, ok := n.round(0); return ok && at >= from+rounds }, "the rounds do not close")
			took, closed := time.Since(begun), n.open(0)-from
			after, _ := n.CPU()
			node := after[3] - before[3]
			var signers time.Duration
			for _, p := range apart {
				p.end(syscall.SIGTERM)
				signers += p.used
			}
			t.Logf("signers %t: %d rounds, %d with participant 3, %.1f ms a round; CPU a round: node 3 %.1f ms, signers %.1f ms",
				turn%2 == 1, closed, n.participant(3).Participations-counted, took.Seconds()*1e3/float64(closed),
				node.Seconds()*1e3/float64(closed), signers.Seconds()*1e3/float64(closed))
		})
	}
}
