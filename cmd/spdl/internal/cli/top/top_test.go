package top

import (
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/abci"
	"github.com/spdl/spdl/app"
)

// TestTopHostile: whatever a node and its participants call themselves, a frame
// has its own control sequences alone and its own lines.
func TestTopHostile(t *testing.T) {
	hostile := "\x1b[2J\x1b]0;owned\x07\r\n\u202Eevil\u0301\u0301\u200b\x9b31m\xff" + strings.Repeat("x", 500)
	epsilon, left := 0.5, uint64(3)
	g := &Glance{
		At: time.Unix(0, 0).UTC(), Moniker: hostile, Unreachable: hostile,
		Status: abci.Status{ChainID: hostile, Rule: hostile, Round: 1 << 60, Rounds: 1, Ranking: make([]uint32, 1000)},
		Last:   &app.Record{Contributions: []app.Contribution{{Participant: 0, Selected: true, Opposed: true}}},
		Standings: []abci.Standing{
			{Participant: 0, Moniker: hostile, Reputation: 500_000}, {Participant: 1, Moniker: "\n\n\n"}, {Participant: 7, Moniker: "\t|\v"},
		},
		Spend: []abci.Spend{{Participant: 0, Moniker: hostile, Epsilon: &epsilon, Left: &left, Budget: 2}},
	}
	var out strings.Builder
	require.NoError(t, topText(&out, g))
	text := out.String()
	for _, r := range text {
		require.True(t, unicode.IsPrint(r) && !unicode.IsMark(r) || r == '\n', "%q in %q", r, text)
	}
	require.Equal(t, 10, strings.Count(text, "\n"), text)
	for _, line := range strings.Split(text, "\n") {
		require.Less(t, len([]rune(line)), 220)
	}
	require.Contains(t, text, "selected, opposed")
	require.Contains(t, text, "NO ANSWER")

	out.Reset()
	require.NoError(t, frame(&out, g, true, false))
	require.True(t, strings.HasPrefix(out.String(), homeCursor))
	require.Equal(t, 1+10+1, strings.Count(out.String(), "\x1b"), "home, a clearing a line, the rest")
}

func TestMeter(t *testing.T) {
	require.Equal(t, "["+strings.Repeat(".", 20)+"]", meter(0, 0))
	require.Equal(t, "[##########..........]", meter(50, 100))
	require.Equal(t, "["+strings.Repeat("#", 20)+"]", meter(1<<40, 3))
}
