package cli

import (
	"bufio"
	"encoding/json"
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
