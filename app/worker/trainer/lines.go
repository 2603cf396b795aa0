package trainer

import (
	"bytes"
	"fmt"
	"strings"
	"time"

	"github.com/spdl/spdl/internal/printable"
)

// lines is a writer that calls say with each line of a program's output. It cuts lines at maxLine bytes, and drops
// lines that its allowance does not cover: a trainer that logs every example could fill the disk of the node.
type lines struct {
	say        func(string)
	allowed    *allowance // shared by all processes of a trainer
	buf        []byte
	numDropped int    // the number of dropped lines that are not reported yet
	lastLine   string // the last line that the program printed; StartError uses it after the program has ended
	place      string // the last file and line that a Python traceback named, for StartError
}

// A trainer may log bytesAtOnce, and in the long run bytesASecond, which are 346 MB a day. A line takes
// bytesOfLine besides its text, for the log's own words and the report of dropped lines.
const (
	maxLine      = 2000
	bytesOfLine  = 200
	bytesAtOnce  = 256 << 10
	bytesASecond = 4000
)

// allowance is the number of bytes that a trainer may log, at the time of its last line.
type allowance struct {
	left float64
	at   time.Time
}

// take reports whether n bytes may be logged, and takes them.
func (a *allowance) take(n int, now time.Time) bool {
	left := min(bytesAtOnce, a.left+bytesASecond*now.Sub(a.at).Seconds()) // the first time is long ago
	a.left, a.at = left, now
	if left < float64(n) {
		return false
	}
	a.left -= float64(n)
	return true
}

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
	if l.allowed.take(len(l.lastLine)+bytesOfLine, time.Now()) {
		l.reportDropped()
		l.say(l.lastLine)
	} else {
		l.numDropped++
	}
	l.buf = l.buf[:0]
}

func (l *lines) reportDropped() {
	if l.numDropped > 0 {
		l.say(fmt.Sprintf("(%d lines are left out: %d bytes a second are logged, and %d at once)", l.numDropped,
			bytesASecond, bytesAtOnce))
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
