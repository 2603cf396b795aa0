package top

import (
	"io"
	"os"
	"strings"
	"time"

	"golang.org/x/term"

	"github.com/spdl/spdl/cmd/internal/cli/command"
)

// All ANSI sequences that top writes.
const (
	enterScreen = "\x1b[?1049h\x1b[?25l\x1b[?7l" // the alternate screen, no cursor, no wrapping
	leaveScreen = "\x1b[?7h\x1b[?25h\x1b[?1049l"
	homeCursor  = "\x1b[H"
	clearLine   = "\x1b[K"
	clearBelow  = "\x1b[J"
	plain       = "\x1b[0m"
)

// tint is the style of a line on a terminal with colours.
type tint string

const (
	none   tint = ""
	bold   tint = "\x1b[1m"
	red    tint = "\x1b[31m"
	yellow tint = "\x1b[33m"
)

// screen is the terminal on which top draws. The zero value is for other outputs, on which each
// view follows the last one without colours.
type screen struct {
	out           io.Writer // nil if the output is not a terminal
	colours       bool
	width, height int  // of the terminal, in characters; 0 if unknown
	first         int  // the participant at the top of the table
	rows          int  // number of rows of the table that were drawn last
	help          bool // the help is shown in place of the view
	byNumber      bool // the table is in the order of numbers, and not those with trouble first

	keys  chan string // nil if standard input is not a terminal
	input *term.State // the state that close restores
}

// open takes control of w if it is a terminal, and otherwise returns the zero screen.
func open(w io.Writer) (*screen, error) {
	if !command.IsTerminal(w) {
		return &screen{}, nil
	}
	s := &screen{out: w, colours: os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb"}
	s.measure()
	if in := int(os.Stdin.Fd()); term.IsTerminal(in) {
		state, err := term.MakeRaw(in)
		if err != nil {
			return nil, err
		}
		s.input, s.keys = state, make(chan string)
		go func() { // ends with the process, because reading from a terminal cannot be cancelled
			for key := make([]byte, 16); ; {
				n, err := os.Stdin.Read(key)
				if err != nil {
					return
				}
				s.keys <- string(key[:n])
			}
		}()
	}
	_, err := io.WriteString(w, enterScreen)
	return s, err
}

func (s *screen) close() {
	if s.out == nil {
		return
	}
	_, _ = io.WriteString(s.out, leaveScreen)
	if s.input != nil {
		_ = term.Restore(int(os.Stdin.Fd()), s.input)
	}
}

// measure reads the terminal's size and reports whether it has changed.
func (s *screen) measure() bool {
	f, ok := s.out.(*os.File)
	if !ok {
		return false
	}
	width, height, err := term.GetSize(int(f.Fd()))
	if err != nil || width == s.width && height == s.height {
		return false
	}
	s.width, s.height = width, height
	return true
}

// sizeTime is the time between two reads of the terminal's size.
const sizeTime = 200 * time.Millisecond

// look returns a channel that delivers after sizeTime, or nil if there is no terminal.
func (s *screen) look() <-chan time.Time {
	if s.out == nil {
		return nil
	}
	return time.After(sizeTime)
}

// press handles a key and reports whether it ends top.
func (s *screen) press(key string) (quit bool) {
	page := max(1, s.rows)
	switch key {
	case "q", "Q", "\x03", "\x04": // Ctrl-C and Ctrl-D are keys of a raw terminal
		return true
	}
	if s.help {
		s.help = false
		return false
	}
	switch key {
	case "?", "h":
		s.help = true
	case "s":
		s.byNumber, s.first = !s.byNumber, 0
	case "j", "\x1b[B", "\x1bOB":
		s.first++
	case "k", "\x1b[A", "\x1bOA":
		s.first--
	case " ", "\x1b[6~":
		s.first += page
	case "b", "\x1b[5~":
		s.first -= page
	case "g", "\x1b[H", "\x1bOH":
		s.first = 0
	case "G", "\x1b[F", "\x1bOF":
		s.first = 1 << 30
	}
	return false
}

// show writes lines: over the previous lines on a terminal, and after them elsewhere.
func (s *screen) show(w io.Writer, lines []line) error {
	var b strings.Builder
	end := "\n"
	if s.out != nil {
		b.WriteString(homeCursor)
		end = "\r\n"
	}
	for i, l := range lines {
		if s.colours && l.tint != none {
			l.text = string(l.tint) + l.text + plain
		}
		if s.out != nil { // before the text: a full line leaves the cursor on its last character
			b.WriteString(clearLine)
		}
		if s.out != nil && i == len(lines)-1 {
			b.WriteString(clearBelow)
			end = "" // a line feed after the last line would scroll the screen
		}
		b.WriteString(l.text)
		b.WriteString(end)
	}
	_, err := io.WriteString(w, b.String())
	return err
}
