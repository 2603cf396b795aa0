package command

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"text/tabwriter"
	"time"

	"github.com/cometbft/cometbft/config"
	cmtflags "github.com/cometbft/cometbft/libs/cli/flags"
	"github.com/cometbft/cometbft/libs/log"
	"github.com/spf13/cobra"

	"github.com/spdl/spdl/abci/home"
	"github.com/spdl/spdl/internal/newfile"
	"github.com/spdl/spdl/internal/printable"
	"github.com/spdl/spdl/internal/wait"
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

// Written shows the files of a home that a command has written, and what to do next.
func (r *Run) Written(home string, files []string, next string) error {
	made := struct {
		Home  string   `json:"home"`
		Files []string `json:"files"`
		Next  string   `json:"next"`
	}{home, files, next}
	return r.Show(made, func(w io.Writer) {
		all := cmp.Or(strings.Join(files, "\n       "), "none: all are so already")
		fmt.Fprintf(w, "home   %s\nfiles  %s\nnext   %s\n", home, all, next)
	})
}

// Line returns a text function for Show that prints one line.
func Line(text string) func(io.Writer) { return func(w io.Writer) { fmt.Fprintln(w, text) } }

// Table prints a heading, unless it is "", and a line for each value. Tabs end the cells of left-aligned columns.
func Table[T any](w io.Writer, heading string, all []T, line func(T) string) {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	if heading != "" {
		fmt.Fprintln(t, heading)
	}
	for _, x := range all {
		fmt.Fprintln(t, line(x))
	}
	_ = t.Flush()
}

// Warn writes a warning to standard error.
func (r *Run) Warn(text string) { fmt.Fprintln(r.Err, "warning:", Plain(text)) }

// Elapsed prints every five seconds what is waited for and how long already, until the returned function is called. The
// caller writes nothing to w until then.
func Elapsed(ctx context.Context, w io.Writer, what string) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() {
		for start := time.Now(); wait.For(ctx, 5*time.Second) == nil; {
			fmt.Fprintf(w, "%s: %v ...\n", what, time.Since(start).Round(time.Second))
		}
	})
	return func() { cancel(); done.Wait() }
}

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

// CheckOut returns an error if the file of a flag exists, because no command overwrites a file that a user names, or if
// its folder does not. With endings it is also CheckEnding. A command that works long before it writes calls it first.
func CheckOut(flag, path, what string, endings ...string) error {
	if len(endings) > 0 {
		if err := CheckEnding(flag, path, what, endings...); err != nil {
			return err
		}
	}
	if _, err := os.Stat(filepath.Dir(path)); errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("--%s is %s, and there is no folder %s", flag, path, filepath.Dir(path))
	}
	return newfile.Check(path)
}

// ReadFile reads a file. It stops one byte beyond the max size.
func ReadFile(path string, most int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most+1))
}

// WriteOut writes the file of a flag, which must not exist.
func WriteOut(path string, data []byte) error { return newfile.Write(path, data) }

// CheckEnding returns a UsageError if the name of a flag's file has an ending that is none of the given
// ones, as ".html". The text says what the file is. A name without an ending is right.
func CheckEnding(flag, path, what string, endings ...string) error {
	if ending := filepath.Ext(path); ending != "" && !slices.Contains(endings, strings.ToLower(ending)) {
		return Usage(fmt.Errorf("--%s is %s, want a name that ends in %s: %s", flag, path, strings.Join(endings, " or "),
			what))
	}
	return nil
}

// OneLine returns a logger that writes each entry as one line. Messages and values may be the words of
// a trainer, a peer or a server: in them it escapes all characters that do not print, so that none
// controls a terminal or looks like another entry.
func OneLine(to log.Logger) log.Logger { return oneLine{to} }

type oneLine struct{ log.Logger }

func (l oneLine) Debug(msg string, keyvals ...any) {
	l.Logger.Debug(printable.Line(msg), lines(keyvals)...)
}
func (l oneLine) Info(msg string, keyvals ...any) {
	l.Logger.Info(printable.Line(msg), lines(keyvals)...)
}
func (l oneLine) Warn(msg string, keyvals ...any) {
	l.Logger.Warn(printable.Line(msg), lines(keyvals)...)
}
func (l oneLine) Error(msg string, keyvals ...any) {
	l.Logger.Error(printable.Line(msg), lines(keyvals)...)
}

func (l oneLine) With(keyvals ...any) log.Logger { return oneLine{l.Logger.With(lines(keyvals)...)} }

// lines returns keys and values in which every text is one line.
func lines(keyvals []any) []any {
	out := make([]any, len(keyvals))
	for i, v := range keyvals {
		switch v := v.(type) {
		case string:
			out[i] = printable.Line(v)
		case error, fmt.Stringer:
			out[i] = printable.Line(fmt.Sprint(v)) // Sprint survives a nil pointer
		default:
			out[i] = v
		}
	}
	return out
}
