package command

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/cometbft/cometbft/config"
	cmtflags "github.com/cometbft/cometbft/libs/cli/flags"
	"github.com/cometbft/cometbft/libs/log"
	"github.com/spf13/cobra"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/internal/printable"
)

// Show prints a value: as JSON, or as text by the given function. The function need not look at the errors of its
// writer: Show returns the first.
func (r *Run) Show(value any, text func(io.Writer)) error {
	if !r.JSON && text != nil {
		w := bufio.NewWriter(r.Out)
		text(w)
		return w.Flush()
	}
	enc := json.NewEncoder(r.Out)
	enc.SetIndent("", "  ")
	return enc.Encode(value)
}

// Line returns a text function for Show that prints one line.
func Line(text string) func(io.Writer) { return func(w io.Writer) { fmt.Fprintln(w, text) } }

// Table prints a heading and a line for each value; tabs in them end the cells of left-aligned columns.
func Table[T any](w io.Writer, heading string, all []T, line func(T) string) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, heading)
	for _, x := range all {
		fmt.Fprintln(t, line(x))
	}
	_ = t.Flush()
}

// Warn writes a warning to standard error.
func (r *Run) Warn(text string) { fmt.Fprintln(r.Err, "warning:", Plain(text)) }

// Plain is printable.Text.
func Plain(text string) string { return printable.Text(text) }

// IsTerminal reports whether a writer is a terminal.
func IsTerminal(w io.Writer) bool {
	f, ok := w.(interface{ Stat() (os.FileInfo, error) })
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// logLevel is the flag of each command that runs a home until a signal ends it.
const logLevel = "log-level"

// LogFlags are the flags of a command that runs until a signal ends it, and logs until then. An empty value stands for
// the home's config.toml.
type LogFlags struct{ level, format string }

// Declare declares the flags. level is the default of --log-level; "" stands for log_level of config.toml.
func (f *LogFlags) Declare(cmd *cobra.Command, level string) {
	from := map[bool]string{true: " (default: log_level of config.toml)"}[level == ""]
	Flag(cmd, &f.level, logLevel, level, "log level, as \"info\" or \"app:info,*:error\""+from)
	Flag(cmd, &f.format, "log-format", "", "form of a log line: plain, or json, an object a line (default: log_format of "+
		"config.toml)").Values(config.LogFormatPlain, config.LogFormatJSON)
}

// Check rejects wrong flags.
func (f *LogFlags) Check() error {
	if f.format != "" && f.format != config.LogFormatPlain && f.format != config.LogFormatJSON {
		return Usage(fmt.Errorf("--log-format is %q, want %s or %s", f.format, config.LogFormatPlain, config.LogFormatJSON))
	}
	_, err := logAt(io.Discard, cmp.Or(f.level, "info"), f.format, "error")
	return err
}

// Begin reads the home, and returns a logger to standard error by the flags and the home's configuration. Errors of the
// flags come first. otherwise is the level of modules that the level does not name.
func (f *LogFlags) Begin(r *Run, otherwise string) (c *config.Config, a home.AppConfig, logger log.Logger, err error) {
	if err = f.Check(); err == nil {
		c, a, err = r.LoadHome()
	}
	if err != nil {
		return c, a, nil, err
	}
	logger, err = logAt(r.Err, cmp.Or(f.level, c.LogLevel), cmp.Or(f.format, c.LogFormat), otherwise)
	if q, ok := r.Err.(*logQueue); ok && err == nil {
		q.reportTo(func(lost int) { logger.With("module", "app").Error(lostLines, "lines", lost) })
	}
	return c, a, logger, err
}

// logAt returns a logger that writes lines of a format. level is one level, such as "info", or a level for each
// module, such as "app:info,*:error"; otherwise is the level of other modules.
func logAt(w io.Writer, level, format, otherwise string) (log.Logger, error) {
	form := log.NewTMLogger
	if format == config.LogFormatJSON {
		form = log.NewTMJSONLogger
	}
	logger, err := cmtflags.ParseLogLevel(level, OneLine(form(log.NewSyncWriter(w))), otherwise)
	if err != nil {
		return nil, Usage(fmt.Errorf("log level %q, want debug, info, warn, error or none, or one for each module, as "+
			"\"app:debug,*:error\"", level))
	}
	return logger, nil
}

// LogStop logs a signal that ends the run, until the returned function is called. what is the program that stops, as
// "the node".
func (r *Run) LogStop(logger log.Logger, what string) (end func() bool) {
	return context.AfterFunc(r.Context, func() { logger.Info(what+" stops", "why", context.Cause(r.Context)) })
}

// CheckChainID rejects a --chain-id that home.CheckChainID rejects.
func CheckChainID(id string) error {
	if err := home.CheckChainID(id); err != nil {
		return Usage(fmt.Errorf("--chain-id: %w", err))
	}
	return nil
}
