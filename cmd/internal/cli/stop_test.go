package cli

import (
	"bufio"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/internal/stage"
)

// TestSignalDuringFeatures: a node that computes the features of all of MNIST logs the signal that stops it, ends
// soon, with exit code 0, and leaves no part of the features in its home. Its log is JSON, one object a line, with
// the keys that the manual names.
func TestSignalDuringFeatures(t *testing.T) {
	stage.NotShort(t, "runs a node")
	net := filepath.Join(t.TempDir(), "net")
	_, stderr, code := spdl(t, "testnet", "init", "--validators", "1", "--rounds", "5", "--home", net)
	require.Zero(t, code, stderr)
	node := process(t, "start", "--home", filepath.Join(net, "node0"), "--log-format", "json")
	out, err := node.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, node.Start())
	defer func() { _ = node.Process.Kill() }()
	var said []string
	var stopped time.Time
	for lines := bufio.NewScanner(out); lines.Scan(); {
		var fields map[string]any
		require.NoError(t, json.Unmarshal(lines.Bytes(), &fields), lines.Text())
		for _, key := range []string{"ts", "level", "module", "_msg"} {
			require.NotEmpty(t, fields[key], "%s: %s", key, lines.Text())
		}
		said = append(said, fields["_msg"].(string))
		switch fields["_msg"] {
		case "computing the features of the training images":
			if stopped.IsZero() {
				require.NoError(t, node.Process.Signal(syscall.SIGTERM))
				stopped = time.Now()
			}
		case "round closed":
			_ = node.Process.Kill() // it has read the data, and no signal was sent
		case "the node stops":
			require.Contains(t, fields["why"], "terminated")
		}
	}
	require.NoError(t, node.Wait())
	require.False(t, stopped.IsZero(), "the features took less than the pause between two messages about them")
	t.Log("it took", time.Since(stopped))
	require.Less(t, time.Since(stopped), 5*time.Second)
	require.True(t, slices.Contains(said, "the node starts") && slices.Contains(said, "the node stops"), said)
	require.Equal(t, "the node has stopped", said[len(said)-1])
	kept, err := filepath.Glob(filepath.Join(net, "node0", "data", "features", "*.bin"))
	require.NoError(t, err)
	require.Empty(t, kept)
}

// TestKilledListeners: whatever listens on a Unix socket listens there again after SIGKILL, which leaves the socket
// file behind: a node for its validator's signer and for its RPC, and a signer for its node.
func TestKilledListeners(t *testing.T) {
	stage.NotShort(t, "runs a node")
	dir, err := os.MkdirTemp("", "s") // a socket's path has at most 107 bytes
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	folder := filepath.Join(t.TempDir(), "net")
	node, vault := filepath.Join(folder, "node0"), filepath.Join(folder, "vault")
	at := func(name string) string { return "unix://" + filepath.Join(dir, name) }
	for _, args := range [][]string{
		{"testnet", "init", "--validators", "2", "--rounds", "5", "--home", folder},
		{"signer", "init", vault, "--home", filepath.Join(folder, "node1"), "--listen", at("keys")},
		{"config", "set", "rpc.laddr", at("rpc"), "--home", node},
		{"config", "set", "priv_validator_laddr", at("blocks"), "--home", filepath.Join(folder, "node1")},
	} {
		_, stderr, code := spdl(t, args...)
		require.Zero(t, code, "%v: %s", args, stderr)
	}
	for _, x := range []struct{ socket, command, home string }{
		{"rpc", "start", node}, {"keys", "signer", vault}, {"blocks", "start", filepath.Join(folder, "node1")},
	} {
		for range 2 {
			p := process(t, x.command, "--home", x.home)
			log, err := os.Create(filepath.Join(t.TempDir(), "log"))
			require.NoError(t, err)
			p.Stderr = log
			require.NoError(t, p.Start())
			require.Eventually(t, func() bool {
				c, err := net.Dial("unix", filepath.Join(dir, x.socket))
				return err == nil && c.Close() == nil
			}, time.Minute, 100*time.Millisecond, "%s: %s", x.command, log.Name())
			require.NoError(t, p.Process.Kill())
			require.Error(t, p.Wait())
			require.NoError(t, log.Close())
			require.FileExists(t, filepath.Join(dir, x.socket))
		}
	}
}
