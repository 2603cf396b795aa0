package command

import (
	"fmt"

	"github.com/cometbft/cometbft/libs/log"

	"github.com/spdl/spdl/internal/printable"
)

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
