package trainer

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/spdl/spdl/internal/printable"
)

// lines is a writer that calls say with each line of a program's output. It cuts lines at maxLine
// bytes, and drops lines beyond mostLines a second: a trainer that logs every example could fill
// the disk of the node.
type lines struct {
	say         func(string)
	buf         []byte
	secondStart time.Time // the start of the current second
	numLines    int       // the number of lines since secondStart
	numDropped  int       // the number of dropped lines that are not reported yet
	lastLine    string    // the last line that the program printed; StartError uses it after the program has ended
	place       string    // the last file and line that a Python traceback named, for StartError
}

const (
	maxLine   = 2000
	mostLines = 200 // the max number of lines a second
)

func (l *lines) Write(p []byte) (int, error) {
	n := len(p)
	for {
		line, rest, found := bytes.Cut(p, []byte("\n"))
		l.buf = append(l.buf, line[:min(len(line), maxLine-len(l.buf))]...)
		if !found {
			return n, nil
		}
		l.pass()
		p = rest
	}
}

// pass hands the buffered line to the log function, or counts the line as dropped.
func (l *lines) pass() {
	l.lastLine = printable.Line(strings.ToValidUTF8(string(l.buf), "?"))
	if place, _ := TracePlace(l.lastLine); place != "" {
		l.place = place
	}
	if now := time.Now(); now.Sub(l.secondStart) >= time.Second {
		l.reportDropped()
		l.secondStart, l.numLines = now, 0
	}
	if l.numLines++; l.numLines > mostLines {
		l.numDropped++
	} else {
		l.say(l.lastLine)
	}
	l.buf = l.buf[:0]
}

func (l *lines) reportDropped() {
	if l.numDropped > 0 {
		l.say(fmt.Sprintf("(%d lines are left out: at most %d a second are logged)", l.numDropped, mostLines))
		l.numDropped = 0
	}
}

// end hands the rest of the output to the log function, after the program has ended. The last line
// often has the reason of the end, and may have no newline.
func (l *lines) end() {
	l.reportDropped()
	if len(l.buf) > 0 {
		l.lastLine = printable.Line(strings.ToValidUTF8(string(l.buf), "?"))
		l.say(l.lastLine)
	}
}
