package command

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/cometbft/cometbft/config"
	"github.com/stretchr/testify/require"
)

// TestLogEntriesAreLines: whatever a message, a key or a value holds, an entry is one line of characters
// that print.
func TestLogEntriesAreLines(t *testing.T) {
	const hostile = "a\nE[2026-11-28|15:00:00.000] node says all is well\r\x1b[2J\u009b2J\u2028\u202eb"
	for _, format := range []string{config.LogFormatPlain, config.LogFormatJSON} {
		var out bytes.Buffer
		logger, err := logAt(&out, "debug", format, "debug")
		require.NoError(t, err)
		logger = logger.With("module", hostile)
		for _, say := range []func(string, ...any){logger.Info, logger.Warn, logger.Error} {
			out.Reset()
			var none *bytes.Buffer // a Stringer that panics
			say(hostile, "why", hostile, "err", errors.New(hostile), hostile, fmt.Stringer(none))
			line, rest, _ := strings.Cut(out.String(), "\n")
			require.Empty(t, rest, format)
			require.NotContains(t, line, "\ufffd")
			for _, control := range []string{"\r", "\x1b", "\u009b", "\u2028", "\u202e"} {
				require.NotContains(t, line, control, format)
			}
			require.Contains(t, line, "node says all is well")
		}
	}
}
