package command

import (
	"encoding/json"
	"fmt"
	"io"
	"os"

	cmtflags "github.com/cometbft/cometbft/libs/cli/flags"
	"github.com/cometbft/cometbft/libs/log"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/internal/printable"
)

// Show prints a value: as JSON, or as text by the given function.
func (r *Run) Show(value any, text func(io.Writer) error) error {
	if !r.JSON && text != nil {
		return text(r.Out)
	}
	enc := json.NewEncoder(r.Out)
	enc.SetIndent("", "  ")
	return enc.Encode(value)
}

// Line returns a text function for Show that prints one line.
func Line(text string) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := fmt.Fprintln(w, text)
		return err
	}
}

// Warn writes a warning to standard error.
func (r *Run) Warn(text string) { fmt.Fprintln(r.Err, "warning:", Plain(text)) }

// Plain is printable.Text.
func Plain(text string) string { return printable.Text(text) }

// IsTerminal reports whether a writer is a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// LogAt returns a logger to standard error. level is one level, such as "info", or a level for each
// module, such as "app:info,*:error"; otherwise is the level of other modules.
func (r *Run) LogAt(level, otherwise string) (log.Logger, error) {
	logger, err := cmtflags.ParseLogLevel(level, log.NewTMLogger(log.NewSyncWriter(r.Err)), otherwise)
	if err != nil {
		return nil, Usage(fmt.Errorf("log level %q, want debug, info, warn, error or none, or one for each module, as "+
			"\"app:debug,*:error\"", level))
	}
	return logger, nil
}

// CheckChainID rejects a --chain-id that home.CheckChainID rejects.
func CheckChainID(id string) error {
	if err := home.CheckChainID(id); err != nil {
		return Usage(fmt.Errorf("--chain-id: %w", err))
	}
	return nil
}
