package virtual

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestHistory: a seed always gives the same history, and Parse reads what String writes.
func TestHistory(t *testing.T) {
	names := []string{"lies"}
	seen := map[string]bool{}
	for seed := range uint64(200) {
		h := Random(seed, 4+int(seed%4), 10*time.Minute, names)
		require.Equal(t, h, Random(seed, h.Nodes, 10*time.Minute, names))
		again, err := Parse("# a comment\n\n" + h.String())
		require.NoError(t, err)
		require.Equal(t, h, again)
		h.Plain = true
		again, err = Parse(h.String())
		require.NoError(t, err)
		require.Equal(t, h, again)
		for _, e := range h.Events {
			seen[e.Action] = true
		}
	}
	text := Event{Action: Expect, Bounds: Bounds{Rounds: 3, Missing: 0.25, Views: 1}}.String()
	require.Equal(t, "0s expect rounds=3 missing=0.25 views=1", text)
	for _, action := range actions {
		if action == Expect { // only written histories have it
			continue
		}
		require.True(t, seen[action], "no history has %q", action)
	}
	for _, wrong := range []string{
		"nodes=4", "seed=1 nodes=4 commit_reveal=true", "seed=1 nodes=4\n1s", "seed=1 nodes=4\n1s dance node=1",
		"seed=1 nodes=4\nsoon kill node=1",
		"seed=1 nodes=4\n1s kill node=4", "seed=1 nodes=4\n1s kill node=1 colour=red", "seed=1 nodes=4\n1s kill node=x",
		"seed=1 nodes=4\n1s disconnect node=1 peers=9", "seed=1 nodes=4\n1s disconnect node=1 way=up",
		"seed=1 nodes=4\n-1s kill node=1", "seed=1 nodes=4\n1s slow node=1 loss=2",
	} {
		_, err := Parse(wrong)
		require.Error(t, err, wrong)
	}
}

// TestTwins: all scenarios of three steps differ, and each step separates nodes.
func TestTwins(t *testing.T) {
	seen := map[string]bool{}
	for k := range TwinScenarios {
		h := Twins(k, 1, 1)
		require.NoError(t, h.Check())
		seen[h.String()[len("seed=1234"):]] = true
		require.Equal(t, Progress, h.Events[len(h.Events)-1].Action)
	}
	require.Greater(t, len(seen), TwinScenarios*9/10)
	require.Equal(t, 3, strings.Count(Twins(7, 5, 2).String(), Progress))
}

// TestShrink: if two events make a history fail, Shrink keeps only these two, and makes them as
// short as possible.
func TestShrink(t *testing.T) {
	h := Random(3, 7, time.Hour, nil)
	needed := []Event{{Action: Kill, Node: 5, At: 8 * time.Second, For: 40 * time.Second}, {Action: Break, Node: 6}}
	h.Events = slices.Insert(h.Events, 20, needed[0])
	h.Events = slices.Insert(h.Events, 41, needed[1])
	plays := 0
	fails := func(h History) bool {
		plays++
		killed := slices.IndexFunc(h.Events, func(e Event) bool {
			return e.Action == Kill && e.Node == 5 && e.For >= 10*time.Second
		})
		return killed >= 0 && slices.ContainsFunc(h.Events[killed:], func(e Event) bool {
			return e.Action == Break && e.Node == 6
		})
	}
	require.True(t, fails(h))
	smallest := Shrink(h, fails, 1000)
	require.True(t, fails(smallest))
	require.Len(t, smallest.Events, 2)
	require.Less(t, smallest.Events[0].For, 20*time.Second)
	require.LessOrEqual(t, smallest.Events[0].At, time.Second)
	plays = 0
	Shrink(h, fails, 7)
	require.Equal(t, 7, plays)
}
