package trainer

import (
	"strings"
	"testing"
	"unicode"

	"github.com/stretchr/testify/require"

	"github.com/spdl/spdl/app/params"
)

// TestWordsAreLines: no text of a trainer brings a line or a control character into an error or the
// log, and none is long.
func TestWordsAreLines(t *testing.T) {
	const hostile = "ValueError:\nE[2026-11-28|15:00:00.000] all is well\r\x1b[2J\u202e"
	var said []string
	l := &lines{say: func(line string) { said = append(said, line) }, allowed: new(allowance)}
	_, err := l.Write([]byte("a\rb\x1b[2J\tc\n" + "rest\x07"))
	require.NoError(t, err)
	l.end()
	require.Equal(t, []string{`a\rb\x1b[2J\tc`, `rest\a`}, said)
	shape := make([]uint32, 10_000)
	_, helloErr := decodeAnswer([]byte(`{"protocol": `+strings.Repeat("1", 60_000)+`}`), "")
	_, evalErr := decodeEval([]byte(`{"loss": "` + "\u202e" + `"}`))
	for what, err := range map[string]error{
		"fault":          fault(hostile + strings.Repeat("x", 5000)),
		"tensor":         compare([]Tensor{{hostile, shape}}, nil),
		"answer":         helloErr,
		"evaluation":     evalErr,
		"tensor's shape": compare([]Tensor{{"weight", shape}}, []params.Tensor{{Name: "weight", Shape: []uint32{3}}}),
	} {
		require.Error(t, err, what)
		require.LessOrEqual(t, len(err.Error()), 1200, what)
		require.False(t, strings.ContainsFunc(err.Error(), func(r rune) bool { return !unicode.IsPrint(r) }), "%s: %q", what,
			err)
	}
	require.ErrorContains(t, fault(hostile), `it says: ValueError:\nE[2026`)
}
