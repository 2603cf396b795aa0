package trainer

import (
	"bytes"
	"fmt"
	"strings"
	"time"
)

// lines passes whole lines on, cuts long ones, and drops those beyond the rate limit. Without the
// limit a trainer that logs every example would fill the disk that the node needs.
type lines struct {
	say   func(string)
	buf   []byte
	since time.Time // start of the second whose lines are counted in said
	said  int       // lines since then
	left  int       // lines dropped and not reported yet
	last  string    // the last line, for a reader after the program has ended
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

// end passes the rest on once the program has ended: the last line tells why it ended, and may lack
// a newline.
func (l *lines) end() {
	l.missed()
	if len(l.buf) > 0 {
		l.last = strings.ToValidUTF8(string(l.buf), "?")
		l.say(l.last)
	}
}
