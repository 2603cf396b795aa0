package testnet

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// standIns makes homes of nodes that behave as told.
func standIns(t *testing.T, behaviours ...string) *Net {
	t.Helper()
	n := &Net{}
	root := t.TempDir()
	for i, b := range behaviours {
		home := filepath.Join(root, fmt.Sprintf("node%d", i))
		require.NoError(t, os.Mkdir(home, 0o700))
		require.NoError(t, os.WriteFile(filepath.Join(home, "behaviour"), []byte(b), 0o600))
		n.Nodes = append(n.Nodes, Node{Home: home})
	}
	return n
}

func startStandIns(t *testing.T, n *Net) *Processes {
	t.Helper()
	binary, err := os.Executable()
	require.NoError(t, err)
	p, err := StartProcesses(n, binary)
	require.NoError(t, err)
	t.Cleanup(func() { _ = p.Stop() })
	return p
}

// pids returns the processes that a node has had so far, waiting for the nth.
func pids(t *testing.T, n Node, nth int) []int {
	t.Helper()
	var out []int
	require.Eventually(t, func() bool {
		data, err := os.ReadFile(filepath.Join(n.Home, "started"))
		if err != nil {
			return false
		}
		out = nil
		for line := range bytes.Lines(data) {
			pid, err := strconv.Atoi(string(bytes.TrimSpace(line)))
			require.NoError(t, err)
			out = append(out, pid)
		}
		return len(out) >= nth
	}, time.Minute, 5*time.Millisecond)
	return out
}

func requireGone(t *testing.T, pid int) {
	t.Helper()
	require.Eventually(t, func() bool { return !alive(pid) }, time.Minute, 10*time.Millisecond, "process %d lives", pid)
}

// alive tells a running process from one that has ended, reaped or not.
func alive(pid int) bool {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return false
	}
	_, rest, _ := bytes.Cut(data, []byte(") "))
	return len(rest) > 0 && rest[0] != 'Z'
}

// state returns the letter of a process's state in /proc.
func state(pid int) byte {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := bytes.Cut(data, []byte(") "))
	if len(rest) == 0 {
		return 0
	}
	return rest[0]
}

func TestStop(t *testing.T) {
	n := standIns(t, "quiet", "quiet", "quiet")
	p := startStandIns(t, n)
	var all []int
	for _, node := range n.Nodes {
		all = append(all, pids(t, node, 1)...)
	}
	require.Greater(t, p.PeakRSS(), int64(3<<20))
	running, workers := p.CPU()
	require.NoError(t, p.Stop())
	ended, _ := p.CPU()
	require.Len(t, ended, 3)
	require.Zero(t, workers, "all are nodes")
	for i, used := range ended {
		require.Positive(t, running[i])
		require.GreaterOrEqual(t, used, running[i], "what a process used counts when it has ended")
	}
	require.NoError(t, p.Stop(), "stopping again is nothing")
	for i, pid := range all {
		requireGone(t, pid)
		log, err := os.ReadFile(n.Nodes[i].LogFile())
		require.NoError(t, err)
		require.Equal(t, "node is up\nnode is down\n", string(log), "asked, not killed")
	}
	require.Error(t, p.Start(0), "nothing starts any more")
	require.Empty(t, p.Failed(), "an end that was asked for is no failure")
}

// TestCrashIsReported: with the end of the node's log.
func TestCrashIsReported(t *testing.T) {
	n := standIns(t, "quiet", "crash")
	p := startStandIns(t, n)
	quiet := pids(t, n.Nodes[0], 1)[0]
	select {
	case err := <-p.Failed():
		require.ErrorContains(t, err, "node 1 ended by itself (exit status 7)")
		require.ErrorContains(t, err, "panic: the disk is full")
	case <-time.After(time.Minute):
		t.Fatal("no report")
	}
	require.NoError(t, p.Stop())
	requireGone(t, quiet)
}

func TestMissingBinary(t *testing.T) {
	_, err := StartProcesses(standIns(t, "quiet"), filepath.Join(t.TempDir(), "nothing"))
	require.ErrorIs(t, err, os.ErrNotExist)
}

// TestNoOrphans: a launcher that is killed with SIGKILL can stop nothing, and
// still its nodes end, also one that ignores SIGTERM.
func TestNoOrphans(t *testing.T) {
	n := standIns(t, "quiet", "stubborn")
	binary, err := os.Executable()
	require.NoError(t, err)
	launcher := exec.Command(binary, "launch", filepath.Dir(n.Nodes[0].Home))
	require.NoError(t, launcher.Start())
	var all []int
	for _, node := range n.Nodes {
		all = append(all, pids(t, node, 1)...)
	}
	for _, pid := range all {
		require.True(t, alive(pid))
		group, err := syscall.Getpgid(pid)
		require.NoError(t, err)
		require.Equal(t, pid, group, "a group of its own: the terminal's Ctrl-C goes to the launcher alone")
	}
	require.NoError(t, launcher.Process.Kill())
	_ = launcher.Wait()
	for _, pid := range all {
		requireGone(t, pid)
	}
}

func TestPerturb(t *testing.T) {
	n := standIns(t, "quiet", "quiet", "quiet", "quiet")
	n.Manifest.Perturb = []Perturbation{
		{Node: 3, Round: 5, Action: DiskFull, For: 10 * time.Millisecond},
		{Node: 0, Round: 3, Action: Kill, For: 10 * time.Millisecond},
		{Node: 1, Round: 3, Action: Restart, After: 10 * time.Millisecond},
		{Node: 2, Round: 4, Action: Pause, For: 3 * time.Second},
	}
	p := startStandIns(t, n)
	for _, node := range n.Nodes {
		pids(t, node, 1)
	}
	ctx := context.Background()
	p.Perturb(ctx, 2)
	p.Perturb(ctx, 3)
	for i := range 2 {
		both := pids(t, n.Nodes[i], 2)
		requireGone(t, both[0])
		require.True(t, alive(both[1]))
	}
	log, err := os.ReadFile(n.Nodes[0].LogFile())
	require.NoError(t, err)
	require.NotContains(t, string(log), "down", "killed")
	log, err = os.ReadFile(n.Nodes[1].LogFile())
	require.NoError(t, err)
	require.Contains(t, string(log), "down", "restarted")

	paused := pids(t, n.Nodes[2], 1)
	p.Perturb(ctx, 4)
	require.Eventually(t, func() bool { return state(paused[0]) == 'T' }, time.Minute, time.Millisecond)
	require.Eventually(t, func() bool { return state(paused[0]) != 'T' }, time.Minute, time.Millisecond)
	p.Perturb(ctx, 5)
	pids(t, n.Nodes[3], 2)
	require.Empty(t, p.Failed())
	require.Error(t, p.Start(2), "it runs")
	require.NoError(t, p.Stop())
	require.Error(t, p.Kill(0), "it runs no more")
}

// TestStopWakesPaused: a stopped process reacts to no SIGTERM.
func TestStopWakesPaused(t *testing.T) {
	n := standIns(t, "quiet")
	p := startStandIns(t, n)
	pid := pids(t, n.Nodes[0], 1)[0]
	require.NoError(t, p.Signal(0, syscall.SIGSTOP))
	require.Eventually(t, func() bool { return state(pid) == 'T' }, time.Minute, time.Millisecond)
	require.NoError(t, p.Stop())
	requireGone(t, pid)
	log, err := os.ReadFile(n.Nodes[0].LogFile())
	require.NoError(t, err)
	require.Equal(t, "node is up\nnode is down\n", string(log), "woken and asked, not killed")
}
