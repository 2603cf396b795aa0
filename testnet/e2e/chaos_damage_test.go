//go:build e2e

package e2e

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app"
	"github.com/spdl/spdl/testnet"
)

// Files of a node that was killed are damaged. The node either comes back by itself and trains, or
// it ends, or its worker refuses; then the data as they were before are put back, with which it
// must come back and train.
var damageCells = []cell{
	{name: "cut-journal", do: damaged("worker_journal.json", cut)},
	{name: "empty-signing-state", do: damaged("priv_validator_state.json", empty)},
	{name: "cut-wal", do: damaged("cs.wal/wal", cut)},
	{name: "flipped-wal", do: damaged("cs.wal/wal", flipped)},
	{name: "cut-state-db", do: damaged("state.db/*.log", cut)},
	{name: "flipped-state-db", do: damaged("state.db/*", flipped)},
	{name: "cut-blockstore", holes: true, do: damaged("blockstore.db/*.log", cut)},
	{name: "flipped-blockstore", holes: true, do: damaged("blockstore.db/*", flipped)},
	{name: "cut-application-db", do: damaged("application.db/*.log", cut)},
	{name: "flipped-application-db", holes: true, do: damaged("application.db/*", flipped)},
}

// damaged kills the struck nodes and damages one file of each, the largest that the pattern
// matches.
func damaged(pattern string, spoil func(c *chaos, path string)) func(c *chaos) {
	return func(c *chaos) {
		for _, i := range c.struck {
			require.NoError(c, c.Kill(i))
			data, kept := filepath.Join(c.Net.Nodes[i].Home, "data"), filepath.Join(c.TempDir(), "kept")
			require.NoError(c, os.CopyFS(kept, os.DirFS(data)))
			spoil(c, largest(c, filepath.Join(data, pattern)))
			require.NoError(c, c.Start(i))
			ended, back := c.outcome(i, 20*time.Second)
			if back && c.trains(i, 20*time.Second) {
				c.note("node %d came back", i)
				continue
			}
			if !ended {
				require.NoError(c, c.Kill(i))
			}
			c.note("node %d was put back, ended: %v (%s)", i, ended, c.lastWords(i))
			require.NoError(c, os.RemoveAll(data))
			require.NoError(c, os.CopyFS(data, os.DirFS(kept)))
			require.NoError(c, c.Start(i))
			require.True(c, c.trains(i, 90*time.Second), "participant %d does not train with the data that were put back", i)
		}
	}
}

// trains waits until a round that opens from now on includes a participant's gradient.
func (c *chaos) trains(i int, patience time.Duration) bool {
	c.Helper()
	sound := c.sound()[0]
	next, _ := c.round(sound)
	next++ // the open one may hold what it sent before
	for start := time.Now(); time.Since(start) < patience; time.Sleep(50 * time.Millisecond) {
		for at, _ := c.round(sound); next < at; next++ {
			if slices.ContainsFunc(c.record(sound, next).Contributions,
				func(x app.Contribution) bool { return int(x.Participant) == i }) {
				return true
			}
		}
	}
	return false
}

// outcome waits until a node has closed a round more than all others had, or ended by itself, or
// the time is over.
func (c *chaos) outcome(i int, patience time.Duration) (ended, back bool) {
	c.Helper()
	goal := c.highest() + 1
	for start := time.Now(); time.Since(start) < patience; time.Sleep(50 * time.Millisecond) {
		select {
		case err := <-c.Failed():
			var end *testnet.Ended
			require.True(c, errors.As(err, &end) && end.Node == i, "%v", err)
			return true, false
		default:
		}
		if at, ok := c.round(i); ok && at > goal {
			return false, true
		}
	}
	return false, false
}

// largest returns the largest file that matches.
func largest(c *chaos, pattern string) (path string) {
	c.Helper()
	all, err := filepath.Glob(pattern)
	require.NoError(c, err)
	var most int64 = -1
	for _, x := range all {
		info, err := os.Stat(x)
		require.NoError(c, err)
		if info.Size() > most {
			path, most = x, info.Size()
		}
	}
	require.Positive(c, most, pattern)
	return path
}

// cut takes some bytes off the end.
func cut(c *chaos, path string) {
	info, err := os.Stat(path)
	require.NoError(c, err)
	require.NoError(c, os.Truncate(path, max(0, info.Size()-1-c.rng.Int64N(200))))
}

func empty(c *chaos, path string) { require.NoError(c, os.Truncate(path, 0)) }

// flipped changes one byte somewhere.
func flipped(c *chaos, path string) {
	data, err := os.ReadFile(path)
	require.NoError(c, err)
	data[c.rng.IntN(len(data))] ^= 0xff
	require.NoError(c, os.WriteFile(path, data, 0o600))
}

// lastWords returns the line in which a node says why it ends, without its folder.
func (c *chaos) lastWords(i int) string {
	data, err := os.ReadFile(c.Net.Nodes[i].LogFile())
	require.NoError(c, err)
	words := "nothing said"
	for line := range strings.Lines(string(data)) {
		if strings.HasPrefix(line, "spdl:") || strings.HasPrefix(line, "panic:") {
			words = strings.TrimSpace(strings.ReplaceAll(line, c.Net.Nodes[i].Home, ""))
		}
	}
	return words[:min(len(words), 100)]
}

// clockCells shift the clocks of the struck nodes: they are started again with another, and then
// with the right one.
var clockCells = []cell{
	{name: "clock-ahead-30s", long: true, binary: shiftable, do: shifted(30 * time.Second)},
	{name: "clock-behind-30s", long: true, binary: shiftable, do: shifted(-30 * time.Second)},
	{name: "clock-ahead-1h", long: true, binary: shiftable, do: shifted(time.Hour)},
	{name: "clock-behind-1h", long: true, binary: shiftable, do: shifted(-time.Hour)},
}

func shifted(by time.Duration) func(c *chaos) {
	return func(c *chaos) {
		for _, i := range c.struck {
			require.NoError(c, c.Terminate(i))
			require.NoError(c, c.Start(i, shiftEnv+"="+by.String()))
			ended, back := c.outcome(i, 10*time.Second)
			c.note("node %d: with the chain %v, ended %v", i, back, ended)
			if ended {
				c.note("%s", c.lastWords(i))
			}
			if !ended {
				defer func() { require.NoError(c, c.Terminate(i)); require.NoError(c, c.Start(i)) }()
				continue
			}
			defer func() { require.NoError(c, c.Start(i)) }()
		}
	}
}
