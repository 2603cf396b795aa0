package cli

import (
	"bufio"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
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
	node.Env = append(node.Environ(), "GOMAXPROCS=1") // several cores may have done before the signal
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
	require.False(t, stopped.IsZero(), "the features took less than a message about them and a signal")
	t.Log("it took", time.Since(stopped))
	require.Less(t, time.Since(stopped), 5*time.Second)
	require.True(t, slices.Contains(said, "the node starts") && slices.Contains(said, "the node stops"), said)
	require.Equal(t, "the node has stopped", said[len(said)-1])
	kept, err := filepath.Glob(filepath.Join(net, "node0", "data", "features", "*.bin"))
	require.NoError(t, err)
	require.Empty(t, kept)
}

// TestStandstillLog: a node whose chain makes no block warns who does not vote.
func TestStandstillLog(t *testing.T) {
	stage.OnlyLong(t) // runs a node
	t.Parallel()
	net := filepath.Join(t.TempDir(), "net")
	_, stderr, code := spdl(t, "testnet", "init", "--validators", "2", "--preset", "pixels", "--home", net)
	require.Zero(t, code, stderr)
	node := process(t, "start", "--home", filepath.Join(net, "node0"))
	out, err := node.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, node.Start())
	said := ""
	for lines := bufio.NewScanner(out); said == "" && lines.Scan(); {
		if strings.Contains(lines.Text(), "validators vote") {
			said = lines.Text()
		}
	}
	require.NoError(t, node.Process.Kill())
	_ = node.Wait()
	require.Contains(t, said, `No quorum: 1 of 2 validators vote, not 1 "node1", and a block takes more than two thirds`)
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

// full returns a pipe that has no room for one byte, as of a reader that has stopped.
func full(t *testing.T) (r, w *os.File) {
	t.Helper()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	t.Cleanup(func() { _, _ = r.Close(), w.Close() })
	require.NoError(t, w.SetWriteDeadline(time.Now().Add(100*time.Millisecond)))
	for n := 1 << 16; n > 0; n /= 2 {
		for err == nil {
			_, err = w.Write(make([]byte, n))
		}
		require.ErrorIs(t, err, os.ErrDeadlineExceeded)
		require.NoError(t, w.SetWriteDeadline(time.Now().Add(100*time.Millisecond)))
		err = nil
	}
	return r, w
}

// TestNobodyReadsTheLog: a service whose log has a reader that has stopped, or none, works, and a signal ends it. Of
// a command that is no service, such as one before head, a closed pipe is the quiet end.
func TestNobodyReadsTheLog(t *testing.T) {
	stage.OnlyLong(t)                 // runs a net
	dir, err := os.MkdirTemp("", "s") // a socket's path has at most 107 bytes
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, os.RemoveAll(dir)) })
	folder := filepath.Join(t.TempDir(), "net")
	node, vault := filepath.Join(folder, "node0"), filepath.Join(folder, "vault")
	rpc, keys := "unix://"+filepath.Join(dir, "rpc"), filepath.Join(dir, "keys")
	for _, args := range [][]string{
		{"testnet", "init", "--validators", "1", "--preset", "pixels", "--rounds", "100000", "--home", folder},
		{"signer", "init", vault, "--home", node, "--listen", "unix://" + keys},
		{"config", "set", "rpc.laddr", rpc, "--home", node},
		{"config", "set", "worker.enabled", "false", "--home", node},
	} {
		_, stderr, code := spdl(t, args...)
		require.Zero(t, code, "%v: %s", args, stderr)
	}
	exists := func(path string) func() bool {
		return func() bool { _, err := os.Stat(path); return err == nil }
	}
	rounds := func(least uint64) func() bool {
		return func() bool {
			out, _, code := spdl(t, "query", "status", "--node", rpc, "-o", "json")
			var s struct{ Round uint64 }
			return code == 0 && json.Unmarshal([]byte(out), &s) == nil && s.Round >= least
		}
	}
	for i, closed := range []bool{false, true} {
		begin := func(works func() bool, args ...string) (end func(code int)) {
			r, w := full(t)
			if closed {
				require.NoError(t, r.Close())
			}
			p := process(t, args...)
			p.Stderr = w
			if args[0] == "testnet" {
				_, p.Stdout = full(t)
				works = func() bool { return len(processesUnder(t, temporary(p.Env))) == 4 }
			}
			require.NoError(t, p.Start())
			t.Cleanup(func() { _ = p.Process.Kill() })
			require.Eventually(t, works, 2*time.Minute, 200*time.Millisecond, "%v, closed: %t", args, closed)
			return func(code int) {
				require.NoError(t, p.Process.Signal(syscall.SIGTERM))
				hung := time.AfterFunc(time.Minute, func() { _ = p.Process.Kill() })
				_ = p.Wait()
				require.True(t, hung.Stop(), "%v goes on after SIGTERM, closed: %t", args, closed)
				require.Equal(t, code, p.ProcessState.ExitCode(), "%v, closed: %t", args, closed)
			}
		}
		pages := stage.Address(t)
		endSigner := begin(exists(keys), "signer", "--home", vault)
		endNode := begin(rounds(0), "start", "--home", node, "--log-level", "*:debug")
		endWorker := begin(rounds(uint64(10*(i+1))), "worker", "--home", node, "--node", rpc)
		begin(func() bool {
			c, err := net.Dial("tcp", pages)
			return err == nil && c.Close() == nil
		}, "explorer", "--node", rpc, "--laddr", pages)(0)
		endWorker(0)
		endNode(0)
		endSigner(0)
		begin(nil, "testnet", "start", "--preset", "pixels", "--rounds", "100000")(1)
	}
	query := process(t, "version")
	r, w, err := os.Pipe()
	require.NoError(t, err)
	require.NoError(t, r.Close())
	var said strings.Builder
	query.Stdout, query.Stderr = w, &said
	require.Error(t, query.Run())
	require.Equal(t, "signal: broken pipe", query.ProcessState.String())
	require.Empty(t, said.String())
}
