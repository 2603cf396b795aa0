//go:build ignore

// Command terminal records what a command prints and writes it as an animated SVG:
//
//	go run docs/images/terminal.go -o docs/images/demo.svg -shown "make demo" -until '^round ' \
//		build/spdl-lab testnet start
//
// The prompt and the lines until the one that -until matches stand at the top from the beginning; below, the others
// appear one by one, and scroll when there is no room left. No line is waited for longer than -gap. The picture plays
// in -play seconds whatever the command took, holds its end, and begins again. A reader who asks for reduced motion
// sees the end.
package main

import (
	"bufio"
	"cmp"
	"flag"
	"fmt"
	"html"
	"log"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"time"
)

const (
	columns, rows = 100, 22
	cell, leading = 8.1, 18.0 // width of a character and height of a line, in pixels
	margin        = 14.0
)

func main() {
	out := flag.String("o", "terminal.svg", "file to write")
	shown := flag.String("shown", "", "command line to show at the prompt (default: the command)")
	play := flag.Duration("play", 12*time.Second, "time that the command's output takes in the picture")
	hold := flag.Duration("hold", 4*time.Second, "time for which the end is shown")
	gap := flag.Duration("gap", 500*time.Millisecond, "max time between two lines of the command in the picture")
	until := flag.String("until", "", "expression of the last line that stays at the top (default: the prompt alone)")
	flag.Parse()
	if *shown == "" {
		*shown = strings.Join(flag.Args(), " ")
	}
	lines, at, err := record(flag.Args())
	head := 0
	if err == nil && *until != "" {
		head, err = after(lines, *until)
	}
	if err == nil {
		top := append([]string{"$ " + *shown}, lines[:head]...)
		err = os.WriteFile(*out, []byte(picture(top, lines[head:], pauses(at, head, *gap), *play, *hold)), 0o644)
	}
	if err != nil {
		log.Fatal(err)
	}
}

// record runs a command and returns the lines of its output with the time of each.
func record(argv []string) (lines []string, at []time.Duration, err error) {
	cmd := exec.Command(argv[0], argv[1:]...)
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdoutPipe()
	if err != nil {
		return nil, nil, err
	}
	start := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, nil, err
	}
	for s := bufio.NewScanner(pipe); s.Scan(); {
		for text := s.Text(); ; {
			cut := len(text)
			if cut > columns {
				cut = cmp.Or(1+strings.LastIndexByte(text[:columns+1], ' '), columns)
			}
			lines, at = append(lines, text[:cut]), append(at, time.Since(start))
			if text = text[cut:]; text == "" {
				break
			}
		}
	}
	return lines, at, cmd.Wait()
}

// after returns the number of lines up to the first that a regular expression matches, with it.
func after(lines []string, expression string) (int, error) {
	e, err := regexp.Compile(expression)
	if err != nil {
		return 0, err
	}
	i := slices.IndexFunc(lines, e.MatchString)
	if i < 0 {
		return 0, fmt.Errorf("none of %d lines matches %q", len(lines), expression)
	}
	return i + 1, nil
}

// pauses returns when the picture shows the lines at[head:]. The first line appears after gap. Each later line keeps
// its distance from the line before it, up to gap.
func pauses(at []time.Duration, head int, gap time.Duration) (times []time.Duration) {
	now := time.Duration(0)
	for i := head; i < len(at); i++ {
		wait := gap
		if i > head {
			wait = min(gap, at[i]-at[i-1])
		}
		now += wait
		times = append(times, now)
	}
	return times
}

// picture returns the SVG: the lines at the top, and below them the others as one column of text. At each line's time
// a cover above the column moves down by a line and, when the column is full, the column moves up.
func picture(top, lines []string, at []time.Duration, play, hold time.Duration) string {
	width, height := columns*cell+2*margin, rows*leading+2*margin
	room, begin := rows-len(top), margin+float64(len(top))*leading
	total := play + hold
	moves := func(place func(shown int) float64) string {
		var frames strings.Builder
		fmt.Fprintf(&frames, "0%%{transform:translateY(%.0fpx)}", place(0))
		for i := range at {
			if place(i+1) != place(i) {
				when := 100 * float64(play) / float64(total) * float64(at[i]) / float64(at[len(at)-1])
				fmt.Fprintf(&frames, "%.2f%%{transform:translateY(%.0fpx)}", when, place(i+1))
			}
		}
		fmt.Fprintf(&frames, "100%%{transform:translateY(%.0fpx)}", place(len(lines)))
		return frames.String()
	}
	column := func(shown int) float64 { return -leading * float64(max(0, shown-room)) }
	cover := func(shown int) float64 { return leading * float64(min(shown, room)) }
	text := func(lines []string, from float64) string {
		var b strings.Builder
		for i, line := range lines {
			fmt.Fprintf(&b, "<text y=\"%.0f\">%s</text>\n", from+leading*float64(i+1)-4, html.EscapeString(line))
		}
		return b.String()
	}
	return fmt.Sprintf(`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" width="%.0f" role="img">
<title>%s</title>
<style>
text{font:13px ui-monospace,SFMono-Regular,Menlo,Consolas,monospace;fill:#d7dde5;white-space:pre}
.column{transform:translateY(%.0fpx)}
.cover{fill:#12161c;transform:translateY(%.0fpx)}
@media (prefers-reduced-motion:no-preference){
.column{animation:column %.1fs steps(1,end) infinite}
.cover{animation:cover %.1fs steps(1,end) infinite}
}
@keyframes column{%s}
@keyframes cover{%s}
</style>
<rect width="100%%" height="100%%" rx="8" fill="#12161c"/>
<svg x="%.0f" y="0" width="%.0f" height="%.0f">%s</svg>
<svg x="%.0f" y="%.0f" width="%.0f" height="%.0f"><g class="column">
%s</g><rect class="cover" width="100%%" height="100%%"/></svg>
</svg>
`, width, height, width, html.EscapeString(top[0]), column(len(lines)), cover(len(lines)), total.Seconds(),
		total.Seconds(), moves(column), moves(cover), margin, columns*cell, begin, text(top, margin), margin, begin,
		columns*cell, float64(room)*leading, text(lines, 0))
}
