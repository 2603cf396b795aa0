package trainer

import (
	"bytes"
	"fmt"
	"strings"
	"time"
)

// lines passes whole lines on, cuts long ones, and leaves out what is too many: what a trainer says
// of every example would fill the disk that the node needs.
type lines struct {
	say   func(string)
	buf   []byte
	since time.Time // of the second that is counted
	said  int       // in it
	left  int       // out, since it was said
}

const (
	maxLine   = 2000
	mostLines = 200 // a second
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

// pass passes the line on that has been gathered.
func (l *lines) pass() {
	if now := time.Now(); now.Sub(l.since) >= time.Second {
		l.missed()
		l.since, l.said = now, 0
	}
	if l.said++; l.said > mostLines {
		l.left++
	} else {
		l.say(strings.ToValidUTF8(string(l.buf), "?"))
	}
	l.buf = l.buf[:0]
}

func (l *lines) missed() {
	if l.left > 0 {
		l.say(fmt.Sprintf("(%d lines are left out: at most %d a second are logged)", l.left, mostLines))
		l.left = 0
	}
}

// end passes on what is left when nothing more is written: the last line says why, and may have no
// end.
func (l *lines) end() {
	l.missed()
	if len(l.buf) > 0 {
		l.say(strings.ToValidUTF8(string(l.buf), "?"))
	}
}
