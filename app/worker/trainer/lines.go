package trainer

import (
	"bytes"
	"fmt"
	"strings"
	"time"
)

// lines passes the whole lines of a program's output on, cuts long ones, and drops lines beyond the
// rate limit. Without that limit a trainer that logs every example would fill the disk of the node.
type lines struct {
	say   func(string)
	buf   []byte
	since time.Time // the start of the second for which said counts lines
	said  int       // lines passed on since then
	left  int       // dropped lines that are not reported yet
	last  string    // the last line, which is read after the program has ended
}

const (
	maxLine   = 2000
	mostLines = 200 // lines a second
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

// pass passes the buffered line on.
func (l *lines) pass() {
	l.last = strings.ToValidUTF8(string(l.buf), "?")
	if now := time.Now(); now.Sub(l.since) >= time.Second {
		l.missed()
		l.since, l.said = now, 0
	}
	if l.said++; l.said > mostLines {
		l.left++
	} else {
		l.say(l.last)
	}
	l.buf = l.buf[:0]
}

func (l *lines) missed() {
	if l.left > 0 {
		l.say(fmt.Sprintf("(%d lines are left out: at most %d a second are logged)", l.left, mostLines))
		l.left = 0
	}
}

// end passes the rest of the output on after the program has ended. The last line tells why the
// program ended, and may lack a newline.
func (l *lines) end() {
	l.missed()
	if len(l.buf) > 0 {
		l.last = strings.ToValidUTF8(string(l.buf), "?")
		l.say(l.last)
	}
}
